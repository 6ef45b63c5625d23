// Stacks of a real CPython, read from outside while it runs.
#include "profiler/stacks/python_stacks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/profiler/python_child.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::PythonChild;

constexpr char kProgram[] = R"(import os, sys, threading, time


class Loader:
    def größe(self):
        for item in self.items():
            return item

    def items(self):
        yield [wait(i) for i in range(1)]


def wait(_):
    os.write(1, b"ready\n"); time.sleep(100)


def beside():
    time.sleep(
        100)


threading.Thread(target=beside, daemon=True).start()
if len(sys.argv) > 1 and os.fork():
    os.wait()
Loader().größe()
)";

// The child that it forked.
pid_t child_of(pid_t pid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid);
  pid_t child = 0;
  std::ifstream(task + "/children") >> child;
  return child;
}

// What a process runs, as its reader sees it.
struct Seen {
  explicit Seen(pid_t pid)
      : memory(OwnedFd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDONLY))) {
    std::stringstream maps;
    maps << std::ifstream("/proc/" + std::to_string(pid) + "/maps").rdbuf();
    found = find_python(memory, maps.str(), "");
    if (found.runtime) stacks = std::make_unique<PythonStacks>(memory, *found.runtime);
  }
  std::vector<std::string> stack(pid_t tid) {
    std::vector<PythonFrame> frames;
    std::vector<std::string> lines;
    if (stacks->read(tid, frames) != StackOutcome::kRead) return lines;
    for (const PythonFrame& frame : frames) {
      const std::string& name = stacks->function(frame.function).name;
      lines.push_back(name.substr(name.rfind('.') + 1) + ":" + std::to_string(frame.line));
    }
    return lines;
  }

  ProcessMemory memory;
  FoundPython found;
  std::unique_ptr<PythonStacks> stacks;
};

class PythonStacksTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(dir_ / "program.py") << kProgram; }
  std::unique_ptr<PythonChild> start(bool forks = false) {
    return std::make_unique<PythonChild>("python3", dir_ / "program.py", 1,
                                         forks ? "fork" : nullptr);
  }

  testing::TempDir dir_;
};

void expect_the_stack(std::vector<std::string> stack) {
  std::erase_if(stack, [](const std::string& line) { return line.starts_with("<listcomp>"); });
  const std::vector<std::string> expected = {"wait:14", "items:10", "größe:6", "<module>:25"};
  EXPECT_EQ(stack, expected);
}

TEST_F(PythonStacksTest, AThreadIsInTheLinesThatItRuns) {
  const auto child = start();
  if (!child->ready()) GTEST_SKIP() << "there is no python3";
  Seen seen(child->pid());
  if (!seen.stacks)
    GTEST_SKIP() << "python3 is none whose stacks can be read: " << seen.found.why_not;
  expect_the_stack(seen.stack(child->pid()));
  const std::vector<pid_t> threads = seen.stacks->threads();
  ASSERT_EQ(threads.size(), 2U);
  const pid_t other = threads[0] == child->pid() ? threads[1] : threads[0];
  const auto beside = seen.stack(other);
  ASSERT_FALSE(beside.empty());
  EXPECT_EQ(beside.front(), "beside:18") << "of an expression over two lines, where it begins";
}

TEST_F(PythonStacksTest, AForkedProcessHasAStackOfItsOwn) {
  const auto child = start(/*forks=*/true);
  if (!child->ready()) GTEST_SKIP() << "there is no python3";
  Seen seen(child_of(child->pid()));
  if (!seen.stacks) GTEST_SKIP() << "python3 is none whose stacks can be read";
  expect_the_stack(seen.stack(child_of(child->pid())));
}

TEST_F(PythonStacksTest, OfAProcessThatHasEndedThereIsNothing) {
  const auto child = start();
  if (!child->ready()) GTEST_SKIP() << "there is no python3";
  Seen seen(child->pid());
  if (!seen.stacks) GTEST_SKIP() << "python3 is none whose stacks can be read";
  const pid_t pid = child->pid();
  child->end();
  EXPECT_TRUE(seen.stack(pid).empty());
  EXPECT_TRUE(seen.stacks->threads().empty());
}

// Memory that was freed, torn or made up.
TEST_F(PythonStacksTest, MemoryMayHoldAnything) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const std::string path = dir_ / "memory";
    std::vector<std::uint64_t> words(4096);
    // Mostly small numbers and addresses within: pointers that lead somewhere.
    for (std::uint64_t& word : words)
      word = random() % 4 == 0 ? random() : random() % (words.size() * 8);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(words.data()),
               static_cast<std::streamsize>(words.size() * 8));
    const ProcessMemory memory(OwnedFd(open(path.c_str(), O_RDONLY)));
    for (const int minor : {10, 11, 12}) {
      PythonRuntime runtime{8, {3, minor}, *fixed_python_layout({3, minor})};
      PythonStacks stacks(memory, runtime);
      std::vector<PythonFrame> frames;
      for (const pid_t tid : stacks.threads()) {
        stacks.read(tid, frames);
        EXPECT_LE(frames.size(), PythonStacks::kMaxFrames);
      }
    }
  }
}

}  // namespace
}  // namespace stepscope
