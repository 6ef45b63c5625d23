// What a run is called, which variables and which source it has: read from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "profiler/identity/program_name.h"
#include "profiler/identity/run_environment.h"
#include "profiler/identity/source_state.h"
#include "profiler/recorder/loaded_versions.h"
#include "profiler/recorder/run_meta.h"
#include "profiler/recorder/source_watch.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Pair;
using Words = std::vector<std::string>;

std::string name_of(const Words& words) { return name_program(words).name; }

// --- names ---------------------------------------------------------------------------------------

TEST(ProgramNameTest, AScriptNamesTheRun) {
  EXPECT_EQ(name_of({"python", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"/opt/venv/bin/python3.11", "-u", "jobs/train.py", "--lr", "0.1"}),
            "train.py");
  EXPECT_EQ(name_of({"python3", "-X", "dev", "-W", "ignore", "-O", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"python3", "-Xdev", "-Wignore", "train", "x.py"}), "train");
  EXPECT_EQ(name_of({"./train.py", "--lr", "0.1"}), "train.py");
  EXPECT_EQ(name_of({"./build/train", "config.py"}), "train");
  EXPECT_EQ(name_program({"python", "jobs/train.py"}).path, "jobs/train.py");
}

TEST(ProgramNameTest, AModuleAndACommand) {
  EXPECT_EQ(name_of({"python", "-m", "pkg.train", "--lr", "0.1"}), "pkg.train");
  EXPECT_EQ(name_of({"python", "-um", "pkg.train"}), "pkg.train");
  EXPECT_EQ(name_of({"python", "-mpkg.train"}), "pkg.train");
  EXPECT_EQ(name_of({"python", "-c", "import torch"}), "python -c");
  EXPECT_EQ(name_of({"python"}), "python");
  EXPECT_EQ(name_of({"python", "-"}), "python");
  EXPECT_EQ(name_of({"python", "-m"}), "python");
}

TEST(ProgramNameTest, ALauncherDoesNot) {
  EXPECT_EQ(name_of({"torchrun", "--nproc-per-node", "2", "train.py", "--x", "y.py"}), "train.py");
  EXPECT_EQ(name_of({"torchrun", "--nproc-per-node=2", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(name_of({"python", "/venv/bin/torchrun", "--nnodes", "1", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"python", "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py"}),
            "train.py");
  EXPECT_EQ(name_of({"accelerate", "launch", "--config_file", "a.yaml", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"deepspeed", "--num_gpus", "4", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"mpirun", "-np", "4", "./build/train", "8"}), "train");
  EXPECT_EQ(name_of({"env", "OMP_NUM_THREADS=4", "nice", "-n", "5", "./train"}), "train");
  EXPECT_EQ(name_of({"timeout", "60", "train"}), "train");
  EXPECT_EQ(name_of({"taskset", "-c", "0-3", "python", "-m", "pkg.train"}), "pkg.train");
  EXPECT_EQ(name_of({"uv", "run", "train.py"}), "train.py");
  EXPECT_EQ(name_of({"torchrun"}), "torchrun");
  EXPECT_EQ(name_of({"python", "-m", "cProfile", "-o", "out", "train.py"}), "train.py");
}

TEST(ProgramNameTest, AShell) {
  EXPECT_EQ(name_of({"bash", "jobs/run.sh", "train.py"}), "run.sh");
  EXPECT_EQ(name_of({"sh", "-c", "cd jobs && python -u train.py --lr 0.1"}), "train.py");
  EXPECT_EQ(name_of({"bash", "-lc", "exec 'train.py'"}), "train.py");
  EXPECT_EQ(name_of({"sh", "-c", "exit 7"}), "sh -c");
  EXPECT_EQ(name_of({"sh"}), "sh");
}

TEST(ProgramNameTest, OddWordsAreNames) {
  EXPECT_EQ(name_of({}), "");
  EXPECT_EQ(name_of({""}), "");
  EXPECT_EQ(name_of({"env", "", "=", "--"}), "env");
  EXPECT_EQ(name_of(Words(100'000, "env")), "env");
}

// --- variables -----------------------------------------------------------------------------------

TEST(RunEnvironmentTest, OnlyWhatMattersAndNoSecret) {
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "RANK",
                           "PYTORCH_CUDA_ALLOC_CONF", "TORCH_LOGS", "WORLD_SIZE", "LD_PRELOAD"})
    EXPECT_TRUE(is_recorded_variable(name)) << name;
  for (const char* name : {"HOME", "PATH", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY",
                           "TORCH_HUB_TOKEN", "PYTORCH_PASSWORD", "MKL", "MY_OMP_NUM_THREADS", ""})
    EXPECT_FALSE(is_recorded_variable(name)) << name;
  const std::string large = "TORCH_LOGS=" + std::string(5000, 'x');
  const char* const variables[] = {"RANK=1",      "HOME=/root", "OMP_NUM_THREADS=4", "none", "RANK",
                                   large.c_str(), nullptr};
  const auto recorded = recorded_environment(variables);
  ASSERT_EQ(recorded.size(), 3U);
  EXPECT_EQ(recorded[0], "OMP_NUM_THREADS=4");
  EXPECT_EQ(recorded[1], "RANK=1");
  EXPECT_EQ(recorded[2].size(), std::string("TORCH_LOGS=").size() + 1024);
}

// --- source --------------------------------------------------------------------------------------

class SourceTest : public testing::Test {
 protected:
  SourceTest() : root_(fs::path(testing::TempDir()) / ("source-" + std::to_string(getpid()))) {
    fs::create_directories(root_ / "jobs");
    path_before_ = std::getenv("PATH");
  }
  ~SourceTest() override {
    setenv("PATH", path_before_.c_str(), 1);
    fs::remove_all(root_);
  }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  // A program that stands for git; only it is in PATH.
  void fake_git(const std::string& script) const {
    write("bin/git", "#!/bin/sh\n" + script + "\n");
    fs::permissions(root_ / "bin/git", fs::perms::owner_all);
    setenv("PATH", (root_ / "bin").c_str(), 1);
  }
  [[nodiscard]] SourceState read() const { return read_source_state(root_); }
  // What it finds, however long that takes.
  std::optional<SourceState> watch() const {
    SourceWatch watch;
    watch.start({root_ / "no such folder", root_ / "jobs"});
    std::optional<SourceState> found;
    for (int i = 0; i < 20'000 && !(found = watch.take()); ++i) usleep(1000);
    return found;
  }

  const std::string commit_ = std::string(39, 'a') + "1";
  const std::string other_ = std::string(39, 'b') + "2";
  fs::path root_;
  std::string path_before_;
};

TEST_F(SourceTest, TheRepositoryIsFoundFromBelow) {
  EXPECT_EQ(repository_of(root_ / "jobs"), "");
  write(".git/HEAD", commit_ + "\n");
  EXPECT_EQ(repository_of(root_ / "jobs"), fs::canonical(root_));
  EXPECT_EQ(read().commit, commit_);
  EXPECT_EQ(read().dirty, std::nullopt);
}

TEST_F(SourceTest, ABranchAPackedBranchAndAWorktree) {
  write(".git/HEAD", "ref: refs/heads/main\n");
  EXPECT_EQ(read().commit, "") << "no commit yet";
  write(".git/packed-refs", "# pack-refs with: peeled\n" + other_ + " refs/heads/mainly\n" +
                                commit_ + " refs/heads/main\n^" + other_ + "\n");
  EXPECT_EQ(read().commit, commit_);
  write(".git/refs/heads/main", other_ + "\n");
  EXPECT_EQ(read().commit, other_);

  write("main/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
  write("main/.git/worktrees/w/commondir", "../..\n");
  write("main/.git/refs/heads/side", commit_ + "\n");
  write("tree/.git", "gitdir: ../main/.git/worktrees/w\n");
  EXPECT_EQ(read_source_state(root_ / "tree").commit, commit_);
}

TEST_F(SourceTest, WhatIsNoCommitIsNone) {
  for (const std::string head :
       {"", "ref: ", "ref: ../../etc/passwd", "not a commit", "\xff\xfe"}) {
    write(".git/HEAD", head);
    EXPECT_EQ(read().commit, "") << head;
  }
  fs::remove(root_ / ".git/HEAD");
  ASSERT_EQ(mkfifo((root_ / ".git/HEAD").c_str(), 0600), 0);
  EXPECT_EQ(read().commit, "") << "a pipe is not waited for";
}

TEST_F(SourceTest, GitSaysTheCommitAndTheChanges) {
  write(".git/HEAD", other_ + "\n");
  fake_git("case \"$*\" in *rev-parse*) echo " + commit_ + ";; *) echo ' M train.py';; esac");
  auto found = watch();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->commit, commit_);
  EXPECT_EQ(found->dirty, true);
  fake_git("case \"$*\" in *rev-parse*) echo " + commit_ + ";; esac");
  EXPECT_EQ(watch()->dirty, false);
}

TEST_F(SourceTest, WithoutGitTheFilesAreRead) {
  write(".git/HEAD", commit_ + "\n");
  setenv("PATH", (root_ / "empty").c_str(), 1);
  auto found = watch();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->commit, commit_);
  EXPECT_EQ(found->dirty, std::nullopt);
  fake_git("exit 128");  // the repository belongs to somebody else
  EXPECT_EQ(watch()->commit, commit_);
}

TEST_F(SourceTest, AGitThatHangsIsNotWaitedFor) {
  write(".git/HEAD", commit_ + "\n");
  const fs::path begun = root_ / "begun";
  fake_git("case \"$*\" in *rev-parse*) echo " + commit_ + ";; *) : > " + begun.string() +
           "; exec /bin/sleep 1000;; esac");
  SourceWatch watch;
  watch.start({root_});
  while (!fs::exists(begun)) {
    EXPECT_FALSE(watch.take());
    usleep(1000);
  }
  watch.finish();
  const auto found = watch.take();
  ASSERT_TRUE(found) << "the commit is known";
  EXPECT_EQ(found->commit, commit_);
  EXPECT_EQ(found->dirty, std::nullopt);

  GitCommand git;
  ASSERT_TRUE(git.start(root_, {"status"}, std::chrono::milliseconds(20)));
  while (!git.is_over()) usleep(1000);
  EXPECT_TRUE(git.timed_out());
}

TEST_F(SourceTest, OutsideOfARepositoryNothingIsAsked) {
  fake_git("touch " + (root_ / "asked").string());
  SourceWatch watch;
  watch.start({root_ / "jobs"});
  watch.finish();
  EXPECT_FALSE(watch.take());
  EXPECT_FALSE(fs::exists(root_ / "asked"));
}

TEST_F(SourceTest, TheScriptsFolderComesFirst) {
  EXPECT_THAT(source_folders({"python", "jobs/train.py"}), ElementsAre("jobs", "."));
  EXPECT_THAT(source_folders({"python", "train.py"}), ElementsAre("."));
}

// --- versions ------------------------------------------------------------------------------------

TEST_F(SourceTest, VersionsAreThoseOfTheMappedFiles) {
  const fs::path packages = root_ / "venv/lib/python3.11/site-packages";
  write("venv/lib/python3.11/site-packages/numpy-2.1.3.dist-info/METADATA", "");
  write("venv/lib/python3.11/site-packages/numpydoc-1.0.dist-info/METADATA", "");
  const auto line = [](const fs::path& path) {
    return "7f00-7f01 r-xp 00000000 fe:01 12 " + std::string(10, ' ') + path.string() + "\n";
  };
  const std::string maps = "7f00-7f01 rw-p 00000000 00:00 0\n" + line("/usr/bin/python3.11") +
                           line(packages / "torch/lib/libtorch_cpu.so") +
                           line(packages / "numpy/_core/_multiarray_umath.so");
  EXPECT_THAT(versions_in_maps(maps),
              ElementsAre(Pair("python_version", "3.11"), Pair("numpy_version", "2.1.3")));
  write("venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
  EXPECT_THAT(versions_in_maps(maps),
              ElementsAre(Pair("python_version", "3.11.2"), Pair("numpy_version", "2.1.3")));
  write("venv/pyvenv.cfg", "version_info = 3.12.0.final.0\n");  // of another Python
  EXPECT_THAT(versions_in_maps(line("/usr/lib/libpython3.11.so.1.0") +
                               line(packages / "torch/lib/libtorch_cpu.so")),
              ElementsAre(Pair("python_version", "3.11")));
  EXPECT_THAT(versions_in_maps(line("/usr/lib/libtorch_cpu.so")), ElementsAre());
  EXPECT_THAT(versions_in_maps(""), ElementsAre());
}

TEST(RunMetaTest, TheWholeCommandIsKept) {
  const auto meta = program_meta({"python", "train.py", "a\nb"});
  EXPECT_THAT(meta, ElementsAre(Pair("program", "train.py"),
                                Pair("arguments", "python\ntrain.py\na\\nb\n")));
  const auto long_meta = program_meta(Words(100'000, "word"));
  EXPECT_LE(long_meta[1].second.size(), std::size_t{64} << 10);
}

}  // namespace
}  // namespace stepscope
