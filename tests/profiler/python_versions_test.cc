// Stacks as they are read from outside are those that each CPython tells of itself.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/stacks/python_stacks.h"
#include "store/utf8.h"
#include "tests/profiler/python_child.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

using testing::PythonChild;

// Each thread writes its id and its stack, file, function and line of each frame, as hexadecimal
// digits of UTF-8, then sleeps in the line that wrote it.
constexpr char kProgram[] = R"(import os, sys, threading, time


def say(frame):
    words = [str(threading.get_native_id())]
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        for text in (code.co_filename, name, str(frame.f_lineno)):
            words.append(text.encode("utf-8", "surrogatepass").hex() or "-")
        frame = frame.f_back
    os.write(1, (" ".join(words) + "\n").encode())


def sleep():
    say(sys._getframe()); time.sleep(1000)


def made(name, file, call):
    source = "\n" * 300 + "def %s(f):\n    return f(\n        )\n" % name
    found = {}
    exec(compile(source, file, "exec"), found)
    return lambda: found[name](call)


class Images:
    @property
    def größe(self):
        return [item for item in self.items()]

    def items(self):
        for i in range(3):
            yield self[
                i
            ]

    def __getitem__(self, i):
        try:
            raise KeyError(i)
        except KeyError:
            return {key: sleep() for key in "a"}


def deep(n, call):
    return deep(n - 1, call) if n else call()


calls = [
    lambda: Images().größe,
    made("名前", "/tmp/データ.py", sleep),
    made("𐎠", "/tmp/😀 \u00ff.py", sleep),
    made("control", "/tmp/a\tb\x1b[31mc\x01.py", sleep),
    made("surrogate", "/tmp/\udc80\ud800.py", sleep),
    made("nothing", "", sleep),
    lambda: deep(150, sleep),
    lambda: max([1], key=lambda _: sleep()),
]
for call in calls[1:]:
    threading.Thread(target=call, daemon=True).start()
calls[0]()
)";
constexpr int kThreads = 8;

struct Told {
  pid_t tid = 0;
  std::vector<std::string> stack;  // "file function line"

  explicit Told(const std::string& line) {
    std::istringstream words(line);
    words >> tid;
    std::string file, function, number;
    while (words >> file >> function >> number)
      stack.push_back(text_of(file) + " " + text_of(function) + " " + text_of(number));
  }
  static std::string text_of(const std::string& digits) {
    if (digits == "-") return "";
    std::string text;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      text += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return clean_utf8(text);
  }
};

std::string maps_of(pid_t pid) {
  std::stringstream maps;
  maps << std::ifstream("/proc/" + std::to_string(pid) + "/maps").rdbuf();
  return maps.str();
}

std::vector<std::string> stack_of(PythonStacks& stacks, pid_t tid, bool qualified) {
  std::vector<PythonFrame> frames;
  std::vector<std::string> stack;
  if (stacks.read(tid, frames) != StackOutcome::kRead) return stack;
  for (const PythonFrame& frame : frames) {
    const PythonFunction& function = stacks.function(frame.function);
    const std::string name =
        qualified ? function.name : function.name.substr(function.name.rfind('.') + 1);
    stack.push_back(function.file + " " + name + " " + std::to_string(frame.line));
  }
  return stack;
}

class PythonVersions : public ::testing::TestWithParam<std::string> {};

TEST_P(PythonVersions, EachThreadIsWhereItSaysItself) {
  const testing::TempDir dir;
  std::ofstream(dir / "program.py") << kProgram;
  const PythonChild child(GetParam(), dir / "program.py", kThreads);
  if (!child.ready()) GTEST_SKIP() << GetParam() << " does not run here";
  const ProcessMemory memory(child.memory());
  const FoundPython found = find_python(memory, maps_of(child.pid()), "");
  if (!found.runtime) GTEST_SKIP() << found.why_not;
  PythonStacks stacks(memory, *found.runtime);
  EXPECT_EQ(stacks.threads().size(), std::size_t{kThreads});
  for (const std::string& line : child.lines()) {
    const Told told(line);
    // It has yet to come back from where it said so.
    std::vector<std::string> stack = stack_of(stacks, told.tid, true);
    for (int i = 0; i < 2000 && stack != told.stack; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      stack = stack_of(stacks, told.tid, true);
    }
    EXPECT_EQ(stack, told.stack) << told.tid;
  }
}

TEST_P(PythonVersions, ANameOfAnyLengthIsCutOff) {
  const testing::TempDir dir;
  const std::string name(5000, 'n');
  std::ofstream(dir / "program.py")
      << "import os, time\ndef " << name << "():\n    os.write(1, b'\\n'); time.sleep(1000)\n"
      << name << "()\n";
  const PythonChild child(GetParam(), dir / "program.py", 1);
  if (!child.ready()) GTEST_SKIP() << GetParam() << " does not run here";
  const ProcessMemory memory(child.memory());
  const FoundPython found = find_python(memory, maps_of(child.pid()), "");
  if (!found.runtime) GTEST_SKIP() << found.why_not;
  PythonStacks stacks(memory, *found.runtime);
  std::vector<PythonFrame> frames;
  ASSERT_EQ(stacks.read(child.pid(), frames), StackOutcome::kRead);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(stacks.function(frames[0].function).name, name.substr(0, PythonStacks::kMaxNameBytes));
}

INSTANTIATE_TEST_SUITE_P(Installed, PythonVersions, ::testing::ValuesIn(testing::pythons()),
                         [](const auto& test) {
                           std::string name = test.param.substr(test.param.rfind('/') + 1);
                           std::erase(name, '.');
                           return name + "_" + std::to_string(test.index);
                         });

}  // namespace
}  // namespace stepscope
