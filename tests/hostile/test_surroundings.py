"""Programs that fork, exec, thread, load libraries or lack something: all of them do what they do without
Stepscope, and what they noted is in the store.
"""

import errno
import os
import shutil
import signal

import pytest

import hostile


# --- processes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [0, 4])
def test_fork_without_exec(wrapper, program, threads):
    """A child is a process of its own, also when other threads noted at the moment of the fork."""
    done = wrapper.compare(program, "fork", threads)
    scopes = done.scopes()
    assert scopes["parent"] == 20
    assert scopes["child"] == 20 * 5
    assert done.ends() == [("exit", 0)] + [("exit", 3)] * 20, "by exit() and by _exit()"


def test_exec_of_another_program(wrapper, program):
    done = wrapper.compare(program, "exec", program, "note", 30, "after exec")
    assert done.scopes() == {"before exec": 10, "after exec": 30}
    assert done.ends() == [("replaced", None), ("exit", 0)]


def test_exec_of_a_program_that_notes_nothing(wrapper, program):
    done = wrapper.compare(program, "exec", "sh", "-c", "echo something else; exit 5")
    assert done.scopes() == {"before exec": 10}
    assert done.ends() == [("exit", 5)]


def test_a_process_that_outlives_the_program_is_mentioned(wrapper, program):
    """It goes on, and what it does then is in no store."""
    started = '"$0" steps 60000 1000 >/dev/null 2>&1 & echo $!; sleep 1'
    done = wrapper.wrap("sh", "-c", started, program)
    os.kill(int(done.out), signal.SIGKILL)
    assert done.code == 0
    (line,) = done.said
    assert "outlived" in line
    assert done.scopes()["work"] > 10


# --- threads -------------------------------------------------------------------------------------


def test_500_short_threads(wrapper, program):
    done = wrapper.compare(program, "threads", 500, 25)
    assert done.scopes()["short"] + sum(done.lost().values()) == 500 * 4
    assert done.lost() == {}
    assert done.rows("SELECT count(*) FROM thread") == [(500,)]


def test_more_threads_at_once_than_there_are_rings(wrapper, program):
    """Those that find no ring are counted, once each."""
    done = wrapper.compare(
        "sh", "-c", 'ulimit -s 256; ulimit -v 800000; exec "$@"', "sh", program, "threads", 80, 80
    )
    recorded = done.scopes()["short"] // 4
    assert 4 <= recorded < 80
    assert done.lost() == {"thread": 80 - recorded}


def test_destructors_that_still_note(wrapper, program):
    """At the end of a thread and of the program, after what we keep for a thread was made."""
    done = wrapper.compare(program, "destructors")
    assert done.scopes() == {
        "thread_local": 40,
        "key": 20,
        "main thread_local": 2,
        "static": 1,
        "atexit": 1,
    }
    assert done.lost() == {}


# --- libraries -----------------------------------------------------------------------------------


def test_names_in_libraries_that_come_and_go(wrapper, program, programs):
    libraries = [programs / f"libnamed_scope_{name}.so" for name in ("first", "other")]
    done = wrapper.compare(program, "libraries", *libraries)
    scopes = done.scopes()
    assert (scopes["first"], scopes["other"]) == (100, 100)


def test_our_own_library_loaded_and_unloaded(wrapper, program, library):
    done = wrapper.compare(program, "own-library", library)
    assert done.scopes() == {"late": 1}


def test_the_users_own_preload(wrapper, program, programs):
    done = wrapper.wrap(
        program,
        "note",
        50,
        environment={
            "LD_PRELOAD": str(programs / "libnamed_scope_first.so"),
            "SAY_THAT_IT_IS_HERE": "1",
        },
    )
    assert (done.code, done.out) == (0, "noted\n")
    assert done.err == 2 * "the user's own library is here\n", "in the wrapper, in the program"
    assert done.scopes() == {"work": 50}


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined"])
@pytest.mark.parametrize(
    "what, scopes",
    [
        (["note", 50], {"work": 50}),
        (["threads", 50, 5], {"short": 200}),
        (["fork"], {"parent": 20, "child": 100}),
        (
            ["destructors"],
            {"thread_local": 40, "key": 20, "main thread_local": 2, "static": 1, "atexit": 1},
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_program_built_with_a_sanitizer(wrapper, programs, sanitizer, what, scopes):
    """It starts, and its sanitizer finds nothing of ours: not a leak at the end of a forked child either."""
    program = programs / f"hostile_{sanitizer}"
    if not program.exists():
        pytest.skip(f"the compiler has no -fsanitize={sanitizer} here")
    done = wrapper.compare(program, *what)
    assert done.scopes() == scopes


def test_descriptors(wrapper, program):
    wrapper.compare(program, "descriptors")


# --- limits and permissions ----------------------------------------------------------------------


def test_no_locked_memory(wrapper, program):
    done = wrapper.compare("sh", "-c", 'ulimit -l 0; exec "$@"', "sh", program, "note", 50)
    assert done.scopes() == {"work": 50}


@pytest.mark.parametrize("kib, noted", [(400_000, True), (40_000, False)])
def test_an_address_space_limit(wrapper, program, kib, noted):
    """The program goes on with fewer rings, or none; which is said."""
    done = wrapper.compare("sh", "-c", f'ulimit -v {kib}; exec "$@"', "sh", program, "note", 50)
    assert done.scopes() == ({"work": 50} if noted else {})
    (said,) = done.said
    assert "address space" in said and "ulimit -v" in said


def test_too_few_files(wrapper, program):
    done = wrapper.wrap(program, "note", 50, around=["sh", "-c", 'ulimit -n 12; exec "$@"', "sh"])
    assert (done.code, done.out) == (126, "")
    assert "ulimit -n" in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize("embedded", [False, True])
def test_a_current_folder_that_was_removed(wrapper, program, tmp_path, embedded):
    command = [program, "noting-threads", 1, 50, "run.db"]
    if not embedded:
        command = wrapper.command("run.db", program, "note", 50)
    (tmp_path / "gone").mkdir()
    removed = ["sh", "-c", 'cd "$0/gone" && rmdir "$0/gone" && exec "$@"', tmp_path]
    done = hostile.run([*removed, *command])
    assert done.code == (21 if embedded else 3)
    (line,) = [line for line in done.err.splitlines() if "run.db" in line]
    assert line.endswith("run.db: the current folder was removed; change to another")


@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS], ids=errno.errorcode.get)
def test_a_container_without_memfd(wrapper, programs, program, error):
    """Shared memory is then an unlinked file."""
    around = [programs / "without_memfd", error]
    if hostile.run([*around, "true"]).code == 125:
        pytest.skip("no seccomp filter can be set here")
    done = wrapper.compare(program, "note", 50, around=around)
    assert done.scopes() == {"work": 50}
    assert done.ends() == [("exit", 0)]


def in_mount_namespace(script):
    """The words that run a command after `script`, as root of a mount namespace of its own."""
    around = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'{script} && exec "$@"',
        "sh",
    ]
    if shutil.which("unshare") is None or hostile.run([*around, "true"]).code != 0:
        pytest.skip("no mount namespace can be made here (unshare --user --mount)")
    return around


READ_ONLY_SHM = "mount -t tmpfs -o ro none /dev/shm"
SMALL_SHM = "mount -t tmpfs -o size=64k none /dev/shm"


def test_dev_shm_that_is_read_only(wrapper, program):
    done = wrapper.compare(program, "note", 50, around=in_mount_namespace(READ_ONLY_SHM))
    assert done.scopes() == {"work": 50}


def test_neither_memfd_nor_dev_shm(wrapper, programs, program, tmp_path):
    """A file in the folder for temporary files is left."""
    around = [*in_mount_namespace(READ_ONLY_SHM), programs / "without_memfd", errno.EPERM]
    done = wrapper.compare(
        program, "note", 50, around=around, environment={"TMPDIR": str(tmp_path)}
    )
    assert done.scopes() == {"work": 50}


def test_dev_shm_that_is_too_small(wrapper, programs, program, tmp_path):
    """As in containers (64 MB, and less that is free): no ring fits, the program is not killed by a SIGBUS."""
    around = [*in_mount_namespace(SMALL_SHM), programs / "without_memfd", errno.EPERM]
    done = wrapper.compare(program, "note", 50, around=around)
    assert done.scopes() == {}
    assert done.lost() == {"thread": 1}


def test_no_shared_memory_at_all(wrapper, programs, program, tmp_path):
    """One line says so, and the program runs."""
    full = tmp_path / "full"
    full.mkdir()
    script = f"mount -t tmpfs -o size=64k none {full} && {READ_ONLY_SHM}"
    around = [
        *in_mount_namespace(script),
        "sh",
        "-c",
        f'head -c 1M /dev/zero 2>/dev/null >{full}/it; exec "$@"',
        "sh",
        programs / "without_memfd",
        errno.EPERM,
    ]
    done = wrapper.compare(program, "note", 50, around=around, environment={"TMPDIR": str(full)})
    assert done.scopes() == {}
    (said,) = done.said
    assert "not recorded" in said and "memfd_create" in said
