"""Programs that fork, exec, thread, load libraries or lack something: all of them do what they do without
Stepscope, and what they noted is in the store.
"""

import errno
import os
import platform
import shutil
import signal
import struct

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
    assert done.lost() == {"outlived": 1}
    page = hostile.run([wrapper.stepscope, "analyze", done.store]).out
    assert "lost: 1 process left running" in page
    assert "nothing lost" not in page


def test_processes_that_get_no_memory_are_counted(wrapper, program):
    """The recorder cannot map a region for them, and the store says how many there were."""
    done = wrapper.compare(
        program, "fork", around=["sh", "-c", 'ulimit -v 1500000; exec "$@"', "sh"]
    )
    assert done.scopes() == {}
    assert len(done.said) == 4 and all("is not recorded" in line for line in done.said[:3])
    assert done.said[3] == "stepscope: 18 more of its processes are not recorded"
    assert done.lost() == {"process": 21}
    page = hostile.run([wrapper.stepscope, "analyze", done.store]).out
    assert "lost: 21 processes not recorded" in page


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
    assert done.lost() == ({} if noted else {"process": 1})


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


@pytest.mark.parametrize("wraps", [False, True], ids=["bare", "wrapped"])
def test_process_1_of_a_container_reaps_what_it_adopts(stepscope, tmp_path, wraps):
    """A shell does; wrapped, it is not process 1 any more."""
    container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if shutil.which("unshare") is None or hostile.run([*container, "true"]).code != 0:
        pytest.skip("no process namespace can be made here (unshare --user --pid)")
    orphans = "for i in 1 2 3 4 5 6 7 8; do (sleep 0.1 &); done; sleep 1.5; ps -e -o stat= | grep -c Z; exit 7"
    wrap = [stepscope, "run", "-o", tmp_path / "run.db", "--"] if wraps else []
    done = hostile.run([*container, *wrap, "bash", "-c", orphans])
    assert (done.out.strip(), done.code) == ("0", 7)


def test_a_program_in_a_folder_that_may_not_be_entered(stepscope, tmp_path):
    """The shell's exit code; root may enter every folder."""
    nobody = ["setpriv", "--reuid", "65534", "--clear-groups"]
    if shutil.which("setpriv") is None or hostile.run([*nobody, stepscope, "--version"]).code != 0:
        pytest.skip("no other user can run stepscope here (setpriv)")
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    tmp_path.chmod(0o700)
    done = hostile.run([*nobody, stepscope, "run", "-o", "/tmp/run.db", "--", program])
    assert (done.code, "you may not enter" in done.err) == (126, True), done.err


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
    assert done.lost() == {"process": 1}


# --- processes that cannot reach the folder of the socket -------------------------------------------


def test_another_user(wrapper, program):
    as_nobody = ["setpriv", "--reuid", 65534, "--regid", 65534, "--clear-groups"]
    if shutil.which("setpriv") is None or hostile.run([*as_nobody, program, "note"]).code != 0:
        pytest.skip("the program cannot be started as another user here (setpriv)")
    done = wrapper.compare(*as_nobody, program, "note", 50)
    assert done.scopes() == {"work": 50}
    assert done.lost() == {}


def test_a_tmp_of_its_own(wrapper, program, tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    around = in_mount_namespace(f"mount -t tmpfs none {folder}")
    done = wrapper.compare(*around, program, "note", 50, environment={"TMPDIR": str(folder)})
    assert done.scopes() == {"work": 50}


def test_a_folder_for_the_socket_that_was_removed(wrapper, program):
    remove = 'rm -r "$(dirname "$STEPSCOPE_SOCKET")" && exec "$@"'
    done = wrapper.wrap("sh", "-c", remove, "sh", program, "note", 50)
    assert done.code == 0, done.err
    assert done.scopes() == {"work": 50}
    assert done.ends() == [("exit", 0)]


# --- programs that our library cannot be loaded into ---------------------------------------------


def compare_unrecorded(wrapper, program, kind):
    done = wrapper.compare(program)
    (line,) = done.said[:1]
    assert line.endswith(f": {kind}; it runs, but cannot be recorded")
    assert not any("ld.so" in line or "relocating" in line for line in done.err.splitlines())
    return done


def test_a_program_linked_with_musl(wrapper, tmp_path):
    if shutil.which("musl-gcc") is None:
        pytest.skip("there is no musl-gcc here")
    source = tmp_path / "musl.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("of musl"); return 7; }\n')
    program = tmp_path / "musl"
    assert hostile.run(["musl-gcc", source, "-o", program]).code == 0
    if hostile.run([program]).code != 7:
        pytest.skip("musl's loader is not installed here")
    assert compare_unrecorded(wrapper, program, "linked with musl").code == 7


def test_a_32_bit_program(wrapper, tmp_path):
    """Made by hand, because few machines have a 32-bit C library: write(1, "32\\n", 3), then exit(5)."""
    if platform.machine() != "x86_64":
        pytest.skip("the program is one for x86")
    at = 0x08048000
    code = bytes.fromhex("b804000000bb01000000b9") + struct.pack("<I", at + 84 + 34)
    code += bytes.fromhex("ba03000000cd80b801000000bb05000000cd80")
    code += b"32\n"
    size = 84 + len(code)
    header = b"\x7fELF\x01\x01\x01" + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, at + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    header += struct.pack("<IIIIIIII", 1, 0, at, at, size, size, 5, 0x1000)
    program = tmp_path / "program32"
    program.write_bytes(header + code)
    program.chmod(0o755)
    try:
        bare = hostile.run([program])
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    assert (bare.code, bare.out) == (5, "32\n")
    assert compare_unrecorded(wrapper, program, "32-bit").code == 5
