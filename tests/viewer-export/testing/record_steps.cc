// record_steps PATH: records a training loop as it is told to, for tests that follow a recording.
// Reads lines "steps N" and "finish", and answers "ok" to each, and once at the beginning.
#include <cstdio>
#include <iostream>
#include <string>

#include "tests/store/testing/growing_run.h"

int main(int argc, char** argv) {
  using namespace stepscope;
  if (argc != 2) {
    std::fprintf(stderr, "usage: record_steps PATH\n");
    return 1;
  }
  testing::GrowingRun run(argv[1]);
  std::cout << "ok" << std::endl;
  for (std::string word; std::cin >> word;) {
    int count = 0;
    if (word == "steps" && std::cin >> count)
      run.steps(count, Duration(900'000), Duration(600'000));
    if (word == "finish") run.finish();
    std::cout << "ok" << std::endl;
    if (word == "finish") return 0;
  }
}
