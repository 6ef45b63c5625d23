// Names a run after its script, not after the interpreter or launcher in front of it.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct ProgramName {
  // "train.py"; "pkg.train" of `python -m pkg.train`; "train" of `./build/train`; "python -c".
  std::string name;
  // The path of the script or program, as the command gives it; empty if it names no file.
  std::string path;
};

// Names the program of a command, given as words, program first. Looks through Pythons, shells and
// launchers (torchrun, accelerate, deepspeed, mpirun, srun, env, nice, timeout, numactl, uv, …).
// Accesses no files.
ProgramName name_program(const std::vector<std::string>& words);

}  // namespace stepscope
