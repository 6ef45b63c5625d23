"""`stepscope export --speedscope` and `--folded` as other programs read them."""

import gzip
import json
import re
import subprocess

import pytest

from stack_rows import MS, StackRows

HOSTILE = [
    ("a;b;c", "/src/x;y.py", 1),
    ("line\nend\r\n2", "/src/new\nline.py", 2),
    ("spaces   and\ttabs 7", "/src/with space 9.py", 3),
    ("\u2028separators\u2029\x85", "<string>", None),
    ("\x1b[31m</script>\x9b\"'\\", "%s%n", 4),
    ("", "", None),
    ("x" * 20_000, "/very/long.py", 5),
    ("emoji \U0001f525 \u202e", "/src/é.py", 6),
]


@pytest.fixture(scope="module")
def bare(build_dir, tmp_path_factory):
    """A store of 20 steps of 4.8 ms from 1 ms on."""
    path = tmp_path_factory.mktemp("stacks") / "run.db"
    program = build_dir / "tests/viewer-export/make_trace_store"
    subprocess.run([program, "steps", path, "20"], check=True)
    with StackRows(path):
        pass
    return path


@pytest.fixture
def store(bare, tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(bare.read_bytes())
    return path


@pytest.fixture
def export(stepscope, store):
    def run(*arguments, code=0):
        done = subprocess.run(
            [stepscope, "export", store, *arguments], capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done

    return run


def write_example(store):
    with StackRows(store) as rows:
        loop = rows.thread(4242, 4242, "python")
        worker = rows.thread(4250, 4250, "pt_data_worker")
        main = ("main", "/src/me/train.py", 12)
        waits = rows.stack(main, ("get", "/usr/lib/python3.11/multiprocessing/queues.py", 103))
        decodes = rows.stack(main, ("decode", "/src/me/data.py", 41))
        for at in range(0, 40, 4):
            rows.sample(loop, at, waits, blocked="poll")
            rows.sample(worker, at + 1, decodes, awaited=True)
        rows.sample(loop, 40, rows.stack(main))


def write_hostile(store):
    with StackRows(store) as rows:
        thread = rows.thread(1, 2, "t;\nhread  \u2028 1")
        stack = rows.stack(*HOSTILE)
        for at in range(10):
            rows.sample(thread, at, stack)


def assert_speedscope(file):
    """What the schema of the format asks of a file with sampled profiles."""
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert re.fullmatch(r"stepscope@\d+\.\d+\.\d+", file["exporter"])
    assert isinstance(file["name"], str)
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    frames = file["shared"]["frames"]
    for frame in frames:
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame["name"], str) and frame["name"]
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 1), int)
    assert len({tuple(frame.items()) for frame in frames}) == len(frames)
    for profile in file["profiles"]:
        assert set(profile) == {
            "type", "name", "unit", "startValue", "endValue", "samples", "weights",
        }  # fmt: skip
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"]) > 0
        assert all(isinstance(weight, int) and weight > 0 for weight in profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"] - profile["startValue"]
        assert all(0 <= at < len(frames) for stack in profile["samples"] for at in stack)


def test_folded_stacks_are_lines_of_text(export, store):
    write_example(store)
    assert export("--folded", "-o", "-").stdout.decode() == (
        "python 4242;main (train.py:12) 1\n"
        "python 4242;main (train.py:12);get (multiprocessing/queues.py:103) 10\n"
        "pt_data_worker 4250;main (train.py:12);decode (data.py:41) 10\n"
    )


def test_a_speedscope_file_keeps_to_its_schema(export, store):
    write_example(store)
    file = json.loads(export("--speedscope", "-o", "-").stdout)
    assert_speedscope(file)
    assert [profile["name"] for profile in file["profiles"]] == [
        "python 4242 · python 4242",
        "pt_data_worker 4250 · pt_data_worker 4250",
    ]
    loop = file["profiles"][0]
    assert loop["weights"] == [40 * MS, 4 * MS]
    assert [len(stack) for stack in loop["samples"]] == [2, 1]


def test_hostile_names_break_neither(export, store):
    write_hostile(store)
    file = json.loads(export("--speedscope", "-o", "-").stdout)
    assert_speedscope(file)
    assert {frame.get("file", "") for frame in file["shared"]["frames"]} == {
        file for _, file, _ in HOSTILE
    }
    text = export("--folded", "-o", "-").stdout.decode()
    (line,) = text.splitlines()  # at all line ends that Unicode knows
    stack, count = re.fullmatch(r"(.*) (\d+)", line).groups()
    assert count == "10"
    assert len(stack.split(";")) == 1 + len(HOSTILE)
    assert stack.split(";")[1] == "a,b,c (x,y.py:1)"
    assert stack.split(";")[6] == "? ()"
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]|  ", line)


def test_steps_choose_samples(export, store):
    write_example(store)
    text = export("--folded", "--steps", "2-3", "-o", "-").stdout.decode()
    assert text == (
        "python 4242;main (train.py:12);get (multiprocessing/queues.py:103) 2\n"
        "pt_data_worker 4250;main (train.py:12);decode (data.py:41) 2\n"
    )
    assert b"which has steps 1-20" in export("--folded", "--steps", "90", "-o", "-", code=2).stderr


@pytest.mark.parametrize("form", ["--speedscope", "--folded"])
def test_the_output_is_compressed_by_its_name(export, store, tmp_path, form):
    write_example(store)
    done = export(form, "-o", tmp_path / "stacks.gz")
    assert b"stacks.gz: 21 stack samples of 2 threads" in done.stdout
    plain = export(form, "-o", "-").stdout
    assert gzip.decompress((tmp_path / "stacks.gz").read_bytes()) == plain


@pytest.mark.parametrize("form", ["--speedscope", "--folded"])
def test_a_store_without_samples_is_one_line(export, store, tmp_path, form):
    (tmp_path / "out").write_text("earlier")
    done = export(form, "-o", tmp_path / "out", code=3)
    assert done.stderr.decode() == (
        f"stepscope export: {store}: the store contains no stack samples:"
        " stepscope run takes them from Python and C++ programs, unless --no-lines is given\n"
    )
    assert (tmp_path / "out").read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run.db"]


def test_the_forms_exclude_each_other(export):
    assert b"excludes" in export("--speedscope", "--folded", "-o", "-", code=2).stderr
