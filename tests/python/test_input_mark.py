"""input(): what it tells libstepscope, and that the program cannot tell the difference."""

import pytest

ONE_BATCH = ["begin input {0}", "end input"]
THE_END = ["begin input {0}", "end input exhausted"]


def waits(name, batches):
    return [call.format(name) for call in ONE_BATCH * batches + THE_END]


@pytest.mark.parametrize(
    "source, name",
    [
        ("[1, 2, 3]", "list"),
        ("iter([1, 2, 3])", "list_iterator"),
        ("range(1, 4)", "range"),
        ("(n for n in (1, 2, 3))", "<genexpr>"),
        ("reader()", "reader"),
        ("Old()", "Old"),
        ("Loader()", "Loader"),
    ],
)
def test_input_gives_the_same_elements(marked, source, name):
    assert marked(f"""
        import stepscope

        def reader():
            yield from (1, 2, 3)

        class Old:
            def __getitem__(self, index):
                if index == 3: raise IndexError
                return index + 1

        class Loader:
            def __iter__(self):
                return reader()

        assert list(stepscope.input({source})) == [1, 2, 3]
    """) == waits(name, 3)


def test_input_takes_a_name(marked):
    assert marked("import stepscope\nfor _ in stepscope.input([1], 'train set'): pass") == waits(
        "train set", 1
    )


def test_input_waits_only_while_it_fetches(marked):
    assert marked("""
        import stepscope
        for batch in stepscope.input([1]):
            stepscope.step()
    """) == ["begin input list", "end input", "step", "begin input list", "end input exhausted"]


def test_input_can_be_iterated_again_each_epoch(marked):
    assert (
        marked("""
        import stepscope
        loader = stepscope.input([1, 2])
        for epoch in range(2):
            assert list(loader) == [1, 2]
    """)
        == waits("list", 2) * 2
    )


def test_input_keeps_length_and_attributes(marked):
    marked("""
        import copy, pickle, stepscope
        from collections.abc import Iterator, Sized

        class Loader(list):
            batch_size = 8

        loader = stepscope.input(Loader([1, 2]))
        assert len(loader) == 2 and loader.batch_size == 8 and isinstance(loader, Sized)
        assert not stepscope.input([])
        assert copy.copy(loader).batch_size == 8
        assert list(pickle.loads(pickle.dumps(stepscope.input([1])))) == [1]
        assert repr(stepscope.input([1])) == "stepscope.input([1])"

        generator = stepscope.input(n for n in [1])
        assert not isinstance(generator, Sized) and isinstance(generator, Iterator)

        class Counted(list):
            def __iter__(self): return self
            def __next__(self): raise StopIteration

        counted = stepscope.input(Counted([1, 2]))
        assert len(counted) == 2 and isinstance(counted, Sized) and isinstance(counted, Iterator)
        for broken in (lambda: len(generator), lambda: loader.nothing, lambda: generator.nothing):
            try:
                broken()
            except (TypeError, AttributeError):
                continue
            raise AssertionError("no error")
    """)


def test_input_of_an_iterator_is_one(marked):
    assert marked("""
        import stepscope
        batches = stepscope.input(iter([1, 2]))
        assert iter(batches) is batches
        assert next(batches) == 1
        assert next(batches) == 2
        assert next(batches, "none") == "none"
    """) == waits("list_iterator", 2)


def test_a_generator_is_closed_when_the_loop_breaks(marked):
    assert marked("""
        import stepscope
        events = []

        def reader():
            try:
                yield 1
                yield 2
            finally:
                events.append("closed")

        for batch in stepscope.input(reader()):
            break
        assert events == ["closed"], events
    """) == ["begin input reader", "end input"]


def test_a_generator_can_be_sent_to_and_thrown_into(marked):
    marked("""
        import stepscope

        def reader():
            got = yield 1
            try:
                yield got
            except KeyError:
                yield "caught"

        batches = stepscope.input(reader())
        assert next(batches) == 1
        assert batches.send("hello") == "hello"
        assert batches.throw(KeyError()) == "caught"
        batches.close()
    """)


def test_an_exception_of_the_reader_comes_through(marked):
    assert marked("""
        import stepscope

        def reader():
            yield 1
            raise OSError("disk")

        batches = stepscope.input(reader())
        try:
            list(batches)
        except OSError as error:
            assert error.args == ("disk",)
        assert list(batches) == [], "a generator that raised has ended"
    """) == ["begin input reader", "end input"] * 2 + ["begin input reader", "end input exhausted"]


def test_ctrl_c_in_a_wait_comes_through(marked):
    assert marked("""
        import os, signal, stepscope
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where this runs in the background

        @stepscope.input
        def fetch():
            os.kill(os.getpid(), signal.SIGINT)
            while True: pass

        try:
            fetch()
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("swallowed")
    """) == ["begin input fetch", "end input"]


def test_input_decorates_a_generator_function(marked):
    assert marked("""
        import stepscope

        @stepscope.input
        def read(n, *, by=1):
            "reads"
            for i in range(n): yield i * by

        assert list(read(2, by=3)) == [0, 3]
        assert (read.__name__, read.__doc__) == ("read", "reads")
    """) == waits("read", 2)


def test_input_decorates_a_function_that_fetches_one(marked):
    assert (
        marked("""
        import stepscope

        @stepscope.input
        def get_batch(split):
            return [split]

        assert get_batch("train") == ["train"]
        assert get_batch("train") == ["train"]
    """)
        == ["begin input get_batch", "end input"] * 2
    )


def test_input_refuses_what_it_cannot_iterate(marked):
    marked("""
        import stepscope
        try:
            stepscope.input(17)
        except TypeError as error:
            assert "'int'" in str(error)
        else:
            raise AssertionError("no error")
    """)


def test_threads_may_iterate_at_once(marked):
    calls = marked("""
        import stepscope, threading

        def work():
            assert sum(stepscope.input(range(200))) == 19900

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """)
    assert calls.count("begin input range") == 8 * 201
    assert calls.count("end input") == 8 * 200
    assert calls.count("end input exhausted") == 8


def test_a_forked_child_goes_on_marking(python, marked):
    marked("""
        import os, stepscope
        batches = stepscope.input([1, 2].__iter__())
        next(batches)
        child = os.fork()
        next(batches)
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    """)
    by_process = {}
    for process, call in python.calls_of_processes():
        by_process.setdefault(process, []).append(call)
    assert sorted(map(len, by_process.values())) == [2, 4]
