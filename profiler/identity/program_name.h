// What a run is called: the script, not the interpreter or the launcher in front of it.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct ProgramName {
  // "train.py"; "pkg.train" of `python -m pkg.train`; "train" of `./build/train`; "python -c".
  std::string name;
  // Of the script or the program, as the command has it; empty where that names no file.
  std::string path;
};

// Of a command, program first: looks through Pythons, shells and launchers (torchrun, accelerate,
// deepspeed, mpirun, srun, env, nice, timeout, numactl, uv, …). Only reads the words.
ProgramName name_program(const std::vector<std::string>& words);

}  // namespace stepscope
