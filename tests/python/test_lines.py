"""Which lines of a Python program its time went to: what `stepscope run` says of programs that timed their lines
themselves, in each CPython that is on this machine."""

import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "programs/lines.py"
POINTS = 0.03  # the promise for 1,100 samples
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14", "3.15"]


def interpreters():
    """The Pythons whose stacks can be read, by version: this one, those of newer_pythons.sh and of pyenv, and those on
    the PATH."""
    found = {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    for version in VERSIONS:
        installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
        if unpacked := os.environ.get("STEPSCOPE_TEST_PYTHONS"):
            installed += pathlib.Path(unpacked).glob(f"python{version}")
        # A name on the PATH may be a stand-in of pyenv's for a version that is switched off.
        path = str(installed[-1]) if installed else shutil.which(f"python{version}")
        if path and version not in found and runs(path):
            found[version] = path
    return found


def runs(python):
    return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def environment():
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("STEPSCOPE_", "PYTHON", "LD_PRELOAD"))
    }


def record(stepscope, folder, *command, options=(), code=0):
    """What `analyze --json` says of a program."""
    store = folder / "run.db"
    done = subprocess.run(
        [stepscope, "run", "-o", store, "--quiet", *options, "--", *map(str, command)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stderr
    told = subprocess.run([stepscope, "analyze", "--json", store], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


def share_of(report, function, where="loop", category="input"):
    """The share of the lines of a function, and of what is defined in it."""
    pattern = re.compile(rf"(^|\.){function}(\.|$)")
    return sum(
        line["share"]
        for line in report["lines"]
        if (line["where"], line["category"]) == (where, category)
        and pattern.search(line["function"])
    )


def allowed_error(share, samples):
    """At 1,100 samples three points; with fewer as much more as chance makes of them."""
    return max(POINTS, 3 * math.sqrt(share * (1 - share) / max(samples, 1)))


@pytest.mark.shares
@pytest.mark.parametrize("version", VERSIONS)
def test_lines_get_the_time_that_they_took(stepscope, tmp_path, version):
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"there is no CPython {version} on this machine")
    report = record(stepscope, tmp_path, python, PROGRAM, "--own", "own.json")
    own = json.loads((tmp_path / "own.json").read_text())
    assert own["traced"] == 0, "a thread of the program was traced"
    total = sum(own["times"].values())
    samples = report["line_use"]["loop_samples"]
    assert samples >= 500
    of = {
        "generator": "(generator|numbers)",  # between two values it is in sum(), of the caller's line
        "read": "wait_for_byte",
        "comprehension": "(comprehension|<listcomp>)",  # a function of its own up to 3.11
    }
    for name, time in own["times"].items():
        truth = time / total
        function = of.get(name, name)
        assert share_of(report, function) == pytest.approx(
            truth, abs=allowed_error(truth, samples)
        ), (name, [(line["function"], line["share"]) for line in report["lines"]])
    blocked = {line["function"].split(".")[-1]: line["blocked"] for line in report["lines"]}
    assert blocked["wait_for_byte"] == "read a pipe"
    assert blocked["sleep"] in ("sleep", "select")  # up to 3.10 that is how it sleeps
    assert blocked["busy"] is None


LOADER = """
    import time, torch
    from torch.utils.data import Dataset, DataLoader

    def decode(index):
        end = time.perf_counter() + 0.004
        while time.perf_counter() < end: pass
        return torch.full((32,), float(index))

    def fetch(index):
        time.sleep(0.002)
        return index

    class Samples(Dataset):
        def __len__(self):
            return {samples}
        def __getitem__(self, index):
            return decode(fetch(index)), index % 10

    if __name__ == "__main__":
        torch.set_num_threads(1)
        model = torch.nn.Linear(32, 10)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(Samples(), batch_size=4, {options}):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
"""


def loader_program(folder, samples, options):
    program = folder / "train.py"
    text = LOADER.format(samples=samples, options=options)
    program.write_text("\n".join(line[4:] for line in text.splitlines()))
    return program


@pytest.mark.torch
@pytest.mark.shares
@pytest.mark.parametrize(
    "options",
    ["num_workers=1", "num_workers=2", "num_workers=1, multiprocessing_context='spawn'"],
    ids=["one", "two", "spawned"],
)
def test_the_worker_that_is_waited_for(stepscope, tmp_path, options):
    pytest.importorskip("torch", reason="pip install torch")
    program = loader_program(tmp_path, 800, options)
    report = record(stepscope, tmp_path, sys.executable, program)
    samples = report["line_use"]["worker_samples"]
    assert samples >= 100
    lines = [line for line in report["lines"] if line["where"] == "worker"]
    assert lines[0]["function"] == "decode"
    assert lines[0]["file"] == str(program)
    # The rest of a worker's time goes to PyTorch's own lines.
    decode, fetch = (share_of(report, name, "worker") for name in ("decode", "fetch"))
    truth = 4 / 6.1
    assert decode / (decode + fetch) == pytest.approx(truth, abs=allowed_error(truth, samples))
    # The loop thread itself is in no line of the worker's, though a forked worker begins with the loop's stack.
    loop = [
        line for line in report["lines"] if (line["where"], line["category"]) == ("loop", "input")
    ]
    assert [line["function"] for line in loop[:1]] == ["<module>"]
    assert all(line["function"] != "<module>" for line in lines)


# Each gives its batches in another way; the line is a worker's all the same.
LOADERS = {
    "out of order": "num_workers=2, in_order=False",
    "forkserver": "num_workers=1, multiprocessing_context='forkserver'",
    "persistent": "num_workers=2, persistent_workers=True, prefetch_factor=4",
}


@pytest.mark.torch
@pytest.mark.parametrize("options", LOADERS.values(), ids=list(LOADERS))
def test_the_line_of_a_worker_however_it_is_started_and_asked(stepscope, tmp_path, options):
    pytest.importorskip("torch", reason="pip install torch")
    program = loader_program(tmp_path, 400, options)
    report = record(stepscope, tmp_path, sys.executable, program)
    lines = [line for line in report["lines"] if line["where"] == "worker"]
    assert lines, report["line_use"]
    assert lines[0]["function"] == "decode"
    assert all(line["function"] != "<module>" for line in lines)
    with sqlite3.connect(tmp_path / "run.db") as store:
        processes = store.execute("SELECT pid, parent_pid FROM process ORDER BY id").fetchall()
    pids = {pid for pid, _ in processes}
    assert all(parent in pids for _, parent in processes[1:]), "a fork server may lie between"


# The digests are made without the interpreter's lock, which the loop needs to get on to its next wait.
PREFETCH = """
    import hashlib, queue, threading, time, torch

    block = bytes(1 << 16)

    def decode():
        end = time.perf_counter() + 0.006
        while time.perf_counter() < end: hashlib.sha256(block).digest()
        return torch.ones(8, 32)

    def produce(batches):
        for _ in range(300):
            batches.put(decode())
        batches.put(None)

    batches = queue.Queue(maxsize=2)
    threading.Thread(target=produce, args=(batches,), daemon=True).start()
    model = torch.nn.Linear(32, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    import stepscope
    for x in stepscope.input(iter(batches.get, None), "queue"):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
"""


@pytest.mark.torch
@pytest.mark.shares
def test_a_thread_of_the_program_that_makes_the_batches(stepscope, tmp_path):
    pytest.importorskip("torch", reason="pip install torch")
    program = tmp_path / "train.py"
    program.write_text("\n".join(line[4:] for line in PREFETCH.splitlines()))
    report = record(stepscope, tmp_path, sys.executable, program)
    lines = [line for line in report["lines"] if line["where"] == "worker"]
    assert lines[0]["function"] == "decode"
    assert share_of(report, "decode", "worker") > 0.9


def test_no_lines(stepscope, tmp_path):
    report = record(
        stepscope,
        tmp_path,
        sys.executable,
        PROGRAM,
        "--own",
        "own.json",
        "--batches",
        60,
        options=["--no-lines"],
    )
    assert report["lines"] == []
    with sqlite3.connect(tmp_path / "run.db") as store:
        assert store.execute("SELECT count(*) FROM stack_sample").fetchone() == (0,)


def test_the_frames_of_stepscope_are_left_out(stepscope, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import time, stepscope\n"
        "def slow():\n"
        "    for _ in range(150):\n"
        "        time.sleep(0.01)\n"
        "        yield 1\n"
        "for _ in stepscope.input(slow()):\n"
        "    stepscope.step()\n"
    )
    report = record(stepscope, tmp_path, sys.executable, program)
    assert share_of(report, "slow") > 0.9
    with sqlite3.connect(tmp_path / "run.db") as store:
        files = {text for (text,) in store.execute("SELECT text FROM string") if ".py" in text}
    assert str(program) in files
    assert [file for file in files if re.search("^<stepscope|/python/stepscope/", file)] == []


def test_a_program_that_closes_everything_keeps_its_lines(stepscope, tmp_path):
    """What was handed over is the recorder's."""
    program = tmp_path / "train.py"
    program.write_text(
        "import os, time, stepscope\n"
        "stepscope.step()\n"
        "os.closerange(3, 1000)\n"
        "def slow():\n"
        "    time.sleep(0.01)\n"
        "for _ in range(150):\n"
        "    slow()\n"
        "    stepscope.step()\n"
    )
    report = record(stepscope, tmp_path, sys.executable, program)
    # Without ops, all of a call counts as its forward pass.
    assert share_of(report, "slow", category="forward") > 0.9


def test_a_program_that_dies_is_told_with_its_last_line(stepscope, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import signal, time, stepscope\n"
        "def hang():\n"
        "    time.sleep(60)\n"
        "signal.setitimer(signal.ITIMER_REAL, 1.5)\n"  # 1 s of steps, and it dies asleep
        "for step in range(100):\n"
        "    time.sleep(0.01)\n"
        "    stepscope.step()\n"
        "hang()\n"
    )
    report = record(stepscope, tmp_path, sys.executable, program, code=128 + 14)
    (process,) = report["run"]["processes"]
    (line,) = process["died"]["lines"]
    assert line["place"] == f"{program}:3 hang" or line["place"] == "train.py:3 hang"
    assert line["blocked"] == "sleep"
    assert "Its main thread was in train.py:3 hang." in process["died"]["why"]


# Of the calls that could disturb the program: which ones strace is asked for.
DISTURBING = "ptrace,process_vm_writev,process_vm_readv,kill,tkill,tgkill,rt_sigqueueinfo,rt_tgsigqueueinfo,pidfd_send_signal"


def traced(folder, *words):
    """The lines of strace about `words` and what that starts: "PID call(…) = result"."""
    log = folder / "calls"
    calls = f"{DISTURBING},openat,pwrite64,pwritev"
    strace = ["strace", "-f", "-q", "-e", f"trace={calls}", "-e", "signal=none", "-o", log]
    done = subprocess.run(
        list(map(str, [*strace, *words])),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "PTRACE" in done.stderr or "ptrace(" in done.stderr:
        pytest.skip(f"strace cannot trace here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return log.read_text().splitlines()


def test_nothing_is_stopped_signalled_or_written(stepscope, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("apt install strace")
    program = [sys.executable, PROGRAM, "--own", "own.json", "--batches", 60]
    calls = traced(
        tmp_path, stepscope, "run", "-o", "run.db", "--quiet", "--no-analysis", "--", *program
    )
    with sqlite3.connect(tmp_path / "run.db") as store:
        assert store.execute("SELECT count(*) FROM stack_sample").fetchone()[0] > 0
    memory = [call for call in calls if re.search(r"/proc/\S+/mem\"", call)]
    assert memory, "the program's memory was opened"
    assert all("O_RDONLY" in call for call in memory), memory
    disturbing = [
        call for call in calls if re.match(rf"\d+ +({DISTURBING.replace(',', '|')})\(", call)
    ]
    # A signal of 0 only asks whether a process is there. The group that may be killed is that of git, which looks for
    # the commit and took too long; the program has none of its own.
    harmless = re.compile(r"kill\((\d+, 0|-\d+, SIGKILL)\)")
    disturbing = [call for call in disturbing if not harmless.search(call)]
    assert disturbing == []


def test_code_that_is_made_again_and_again_keeps_its_lines(stepscope, tmp_path):
    """Its memory is freed and used for other code."""
    program = tmp_path / "train.py"
    program.write_text(
        "import time, stepscope\n"
        "TEXT = '\\n' * 7 + 'def {name}():\\n    end = time.perf_counter() + 0.01\\n'\n"
        "TEXT += '    while time.perf_counter() < end: pass\\n'\n"
        "for step in range(200):\n"
        "    name = f'made_{step % 2}'\n"
        "    found = {'time': time}\n"
        "    exec(compile(TEXT.format(name=name), f'{name}.py', 'exec'), found)\n"
        "    found[name]()\n"
        "    stepscope.step()\n"
    )
    report = record(stepscope, tmp_path, sys.executable, program)
    made = [line for line in report["lines"] if line["function"].startswith("made_")]
    assert sum(line["share"] for line in made) > 0.9
    assert {(line["function"], line["file"]) for line in made} == {
        ("made_0", "made_0.py"),
        ("made_1", "made_1.py"),
    }
    assert {line["line"] for line in made} <= {9, 10}


SECCOMP = """
    import ctypes, struct, sys

    # A classic BPF program: these calls fail with EPERM.
    FORBIDDEN = {"x86_64": (101, 310, 311), "aarch64": (117, 270, 271)}

    def forbid(numbers):
        rows = [(0x20, 0, 0, 0)]  # the number of the call
        rows += [(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
        rows += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)]
        text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(text)))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0

    import os
    forbid(FORBIDDEN[os.uname().machine])
    ctypes.set_errno(0)
    assert ctypes.CDLL(None, use_errno=True).ptrace(0, 0, 0, 0) == -1 and ctypes.get_errno() == 1
    os.execvp(sys.argv[1], sys.argv[1:])
"""


def assert_stacks_are_sampled(folder, words):
    """Of a recording by the command `words`, which writes run.db."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(folder / "run.db") as store:
        assert store.execute("SELECT count(*) FROM stack_sample").fetchone()[0] > 0


def test_lines_need_no_call_that_a_sandbox_forbids(stepscope, tmp_path):
    """The recorder and the program run where ptrace and process_vm_readv are forbidden, as in some containers."""
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("the numbers of the calls are not known here")
    sandbox = tmp_path / "sandbox.py"
    sandbox.write_text("\n".join(line[4:] for line in SECCOMP.splitlines()))
    words = [sys.executable, sandbox, stepscope, "run", "-o", "run.db", "--quiet", "--no-analysis"]
    program = [sys.executable, PROGRAM, "--own", "own.json", "--batches", 60]
    assert_stacks_are_sampled(tmp_path, [*words, "--", *program])


def test_lines_where_others_processes_are_hidden(stepscope, tmp_path):
    """/proc with hidepid=2, as on shared machines: a user sees only processes of its own."""
    mount = "mount -t proc -o hidepid=2 proc /proc"
    namespace = ["unshare", "-m", "-p", "-f"]
    try:
        tried = subprocess.run([*namespace, "sh", "-c", mount], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if tried.returncode != 0:
        pytest.skip(f"no namespace with a /proc of its own: {tried.stderr.strip()}")
    words = [stepscope, "run", "-o", "run.db", "--quiet", "--no-analysis", "--"]
    words += [sys.executable, PROGRAM, "--own", "own.json", "--batches", 60]
    assert_stacks_are_sampled(
        tmp_path, [*namespace, "sh", "-c", f'{mount} && exec "$@"', "sh", *words]
    )
