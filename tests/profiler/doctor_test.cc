// The parts of `stepscope doctor` that read what this machine may not have: drivers, old compilers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "profiler/doctor/build_tools.h"
#include "profiler/doctor/command.h"
#include "profiler/doctor/gpu_checks.h"
#include "profiler/doctor/machine_checks.h"
#include "profiler/session/hook_places.h"
#include "store/shell_word.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Finding finding_of(const Findings& findings, const std::string& id) {
  for (const Finding& finding : findings) {
    if (finding.id == id) return finding;
  }
  ADD_FAILURE() << "no finding " << id;
  return {};
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

// --- versions ------------------------------------------------------------------------------------

TEST(VersionTest, IsReadFromWhatProgramsSay) {
  EXPECT_EQ(version_in_text("c++ (Debian 12.2.0-14+deb12u1) 12.2.0\n"), "12.2.0");
  EXPECT_EQ(version_in_text("g++ (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0"), "11.4.0");
  EXPECT_EQ(version_in_text("Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu"), "14.0.6");
  EXPECT_EQ(version_in_text("cmake version 3.25.1"), "3.25.1");
  EXPECT_EQ(version_in_text("no numbers 12 here"), "");
  EXPECT_EQ(version_in_text(""), "");
}

TEST(VersionTest, IsComparedByItsNumbers) {
  EXPECT_TRUE(version_is_at_least("12.2.0", "12"));
  EXPECT_TRUE(version_is_at_least("3.25.1", "3.21"));
  EXPECT_FALSE(version_is_at_least("3.9.9", "3.21"));
  EXPECT_TRUE(version_is_at_least("4.0", "3.21"));
  EXPECT_FALSE(version_is_at_least("", "1"));
}

// --- commands ------------------------------------------------------------------------------------

TEST(CommandTest, CodesAreAShells) {
  EXPECT_EQ(capture({"sh", "-c", "echo out; echo err >&2; exit 3"}).exit_code, 3);
  EXPECT_EQ(capture({"sh", "-c", "echo out; echo err >&2; exit 3"}).output, "out\n");
  EXPECT_EQ(capture({"sh", "-c", "kill -TERM $$"}).exit_code, 128 + 15);
  EXPECT_EQ(capture({"no-such-program"}).exit_code, 127);
}

TEST(CommandTest, OutputsAreKeptUpToALimit) {
  using std::chrono::minutes;
  const auto failed = capture_within({"sh", "-c", "echo out; echo err >&2; exit 3"}, minutes(1));
  ASSERT_TRUE(failed.ok());
  EXPECT_EQ(failed->exit_code, 3);
  EXPECT_EQ(failed->output, "out\n");
  EXPECT_EQ(failed->errors, "err\n");
  const auto loud = capture_within(
      {"sh", "-c", "head -c 100000 /dev/zero >&2; head -c 100000 /dev/zero"}, minutes(1));
  ASSERT_TRUE(loud.ok());
  EXPECT_EQ(loud->exit_code, 0);
  EXPECT_GE(loud->errors.size(), 4096U);
  EXPECT_LE(loud->errors.size(), 8192U);
  EXPECT_GE(loud->output.size(), 4096U);
  EXPECT_LE(loud->output.size(), 8192U);
  EXPECT_EQ(capture_within({"no-such-program"}, minutes(1))->exit_code, 127);
  EXPECT_EQ(capture_within({"/"}, minutes(1))->exit_code, 126);
}

TEST(CommandTest, ACommandThatTakesTooLongIsKilled) {
  const auto slow = capture_within({"sleep", "3600"}, std::chrono::milliseconds(1));
  ASSERT_FALSE(slow.ok());
  EXPECT_EQ(slow.status().kind(), ErrorKind::kUnavailable);
}

// `stepscope run` blocks the signals that it passes on, and a program must not inherit that.
TEST(CommandTest, ACommandHasNoBlockedSignals) {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &before);
  const auto killed =
      capture_within({"sh", "-c", "kill -TERM $$; exit 3"}, std::chrono::minutes(1));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(killed.ok());
  EXPECT_EQ(killed->exit_code, 128 + SIGTERM);
}

TEST(CommandTest, TheLogHoldsTheCommandAndAllThatItSaid) {
  const fs::path log = testing::TempDir() + "/command-" + std::to_string(getpid()) + ".log";
  int ticks = 0;
  EXPECT_EQ(run_logged({"sh", "-c", "echo out; echo err >&2; exit 4"}, log, [&] { ++ticks; }), 4);
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  fs::remove(log);
  EXPECT_EQ(text, "$ sh -c echo out; echo err >&2; exit 4\nout\nerr\n");
}

// --- the GPU -------------------------------------------------------------------------------------

class GpuTest : public testing::Test {
 protected:
  GpuTest() : root_(fs::path(testing::TempDir()) / ("root-" + std::to_string(getpid()))) {
    fs::create_directories(root_);
    unsetenv("CUDA_HOME");
  }
  ~GpuTest() override { fs::remove_all(root_); }

  void add_driver(const std::string& version) const {
    write(root_ / "proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " + version +
              "  Release Build  (dvs-builder@U22)\nGCC version:  gcc version 12.3.0 (Ubuntu)\n");
  }
  [[nodiscard]] Finding check(const std::string& id) const {
    const Findings findings = check_gpu(root_, {torch_});
    for (const Finding& finding : findings) EXPECT_NE(finding.state, FindingState::kMissing);
    return finding_of(findings, id);
  }

  fs::path root_;
  TorchInstall torch_{root_ / "site-packages/torch", {}, "2.13.0", "", true, true};
};

TEST_F(GpuTest, NoneIsNoFault) {
  EXPECT_EQ(check("nvidia-driver").state, FindingState::kNote);
  EXPECT_THAT(check("nvidia-driver").detail, HasSubstr("none"));
  EXPECT_EQ(check("cupti").fix, "");
}

TEST_F(GpuTest, ADriverAndItsGpus) {
  add_driver("570.86.15");
  EXPECT_THAT(check("nvidia-driver").detail, HasSubstr("no /dev/nvidia0"));
  EXPECT_NE(check("nvidia-driver").fix, "");
  for (const char* device : {"nvidia3", "nvidia7", "nvidiactl", "nvidia-uvm"}) {
    write(root_ / "dev" / device, "");
  }
  EXPECT_EQ(check("nvidia-driver").state, FindingState::kOk);
  EXPECT_EQ(check("nvidia-driver").detail, "570.86.15, 2 GPUs");
}

TEST_F(GpuTest, CountersForAdministrators) {
  add_driver("570.86.15");
  const bool root = geteuid() == 0;  // may read them whatever the setting is
  write(root_ / "proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
  EXPECT_EQ(check("gpu-counters").state, root ? FindingState::kOk : FindingState::kNote);
  EXPECT_EQ(check("gpu-counters").fix.empty(), root);
  write(root_ / "proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 0\n");
  EXPECT_EQ(check("gpu-counters").state, FindingState::kOk);
}

TEST_F(GpuTest, CuptiOfPyTorchsPackagesAndOfTheToolkit) {
  add_driver("570.86.15");
  EXPECT_EQ(check("cupti").fix, "python3 -m pip install nvidia-cuda-cupti-cu12");
  add_driver("580.65.06");
  EXPECT_EQ(check("cupti").fix, "python3 -m pip install nvidia-cuda-cupti");
  write(root_ / "usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.2024.1.0", "");
  fs::create_symlink("libcupti.so.2024.1.0",
                     root_ / "usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12");
  const fs::path package = root_ / "site-packages/nvidia/cuda_cupti/lib/libcupti.so.12";
  fs::create_directories(package.parent_path());
  fs::copy_file(STEPSCOPE_CUDA_STAND_IN, package);
  const Finding found = check("cupti");
  EXPECT_EQ(found.state, FindingState::kOk);
  // PyTorch's own first, and a library once, whatever links lead to it.
  EXPECT_EQ(found.detail,
            package.string() + " (API version 130001), " +
                (root_ / "usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12").string());
}

// The file alone says little: it is loaded, in a process that nobody misses.
TEST_F(GpuTest, ALibcuptiThatDoesNotLoadIsOfNoUse) {
  const fs::path library = root_ / "usr/local/cuda/extras/CUPTI/lib64/libcupti.so.12";
  write(library, "not a library");
  const Finding found = check("cupti");
  EXPECT_EQ(found.state, FindingState::kNote);
  EXPECT_EQ(found.detail.find(library.string() + " does not load: "), 0U) << found.detail;
  EXPECT_EQ(found.fix, "python3 -m pip install nvidia-cuda-cupti-cu12");
}

// --- the machine ---------------------------------------------------------------------------------

TEST(MachineTest, WhatTheTestsOfRunUseIsFound) {
  const Findings findings = check_machine();
  EXPECT_EQ(finding_of(findings, "socket").state, FindingState::kOk);
  EXPECT_NE(finding_of(findings, "shared-memory").state, FindingState::kMissing);
}

// --- where hooks lie -----------------------------------------------------------------------------

TEST(HookPlacesTest, TheRootOfALibtorch) {
  EXPECT_EQ(torch_root("/opt/venv/torch/lib/libtorch_cpu.so"), "/opt/venv/torch");
  EXPECT_EQ(torch_root("/opt/venv/torch/_C/../lib/libtorch_cpu.so"), "/opt/venv/torch");
  EXPECT_EQ(torch_root("/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13"), "/usr");
  EXPECT_EQ(torch_root("libtorch_cpu.so"), "");
  EXPECT_EQ(torch_root("/opt/odd/libtorch_cpu.so"), "");
}

TEST(HookPlacesTest, AWordForAShell) {
  for (const std::string word : {"/opt/py torch", "it's", "a$b", "", "/usr/lib", "\"x\""}) {
    EXPECT_EQ(capture({"sh", "-c", "printf %s " + shell_word(word)}).output, word);
  }
  EXPECT_EQ(shell_word("/usr/lib"), "/usr/lib");
}

TEST(HookPlacesTest, ACacheOfAnotherUsersIsNotTrusted) {
  const fs::path file = testing::TempDir() + "/hooks-" + std::to_string(getpid());
  write(file, "");
  const HookPlace cached{HookOrigin::kCache, file};
  EXPECT_TRUE(is_trusted(cached));
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(is_trusted(cached));
    EXPECT_TRUE(is_trusted({HookOrigin::kInstalled, file}));
  }
  fs::remove(file);
  EXPECT_FALSE(is_trusted(cached));
}

}  // namespace
}  // namespace stepscope
