"""libstepscope comes first in the program's search order, so whatever it exports replaces what the
program's own libraries export under the same name."""

import re
import subprocess

INTERPOSED = re.compile(
    r"_ZN(2at24set_record_function_tls_|3c1025ProfiledCPUMemoryReporter|3c1027reportMemoryUsageToProfiler"
    r"|5torch(5optim|8autograd6Engine7execute|4data8samplers|2nn6Module5train|9serialize13OutputArchive))"
    r"|__libc_start_main|_exit|_Exit|InitializeInjectionNvtx2"
)
OWN = re.compile(r"stepscope_[a-z_0-9]+|_ZNK?9stepscope")


def test_it_exports_its_own_functions_and_those_it_interposes(build_dir):
    library = build_dir / "lib/libstepscope.so"
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = [line.split()[-1].split("@")[0] for line in lines]
    others = [name for name in names if not OWN.match(name) and not INTERPOSED.match(name)]
    assert others == []
    assert "stepscope_begin_input" in names
    assert "__libc_start_main" in names
    assert any(name.startswith("_ZN5torch8autograd6Engine7execute") for name in names)
