// `stepscope doctor` on machines that lack this or that: each a folder of its own that stands for
// the user's home, and a libtorch that is not one (fake_torch.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/binary.h"
#include "tests/random_runs.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::run_stepscope;
using Json = nlohmann::json;

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() : home_(fs::path(::testing::TempDir()) / ("home-" + std::to_string(getpid()))) {
    fs::create_directories(home_);
    set("HOME", home_);
    set("XDG_CACHE_HOME", cache_root());
    for (const char* name : {"STEPSCOPE_HOOKS", "CMAKE_PREFIX_PATH", "CXX"}) unset(name);
  }
  ~DoctorTest() override {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
    fs::remove_all(home_);
  }

  void set(const std::string& name, const std::string& value) {
    remember(name);
    setenv(name.c_str(), value.c_str(), 1);
  }
  void unset(const std::string& name) {
    remember(name);
    unsetenv(name.c_str());
  }

  [[nodiscard]] fs::path cache_root() const { return home_ / "cache"; }
  [[nodiscard]] fs::path cache() const { return cache_root() / "stepscope" / STEPSCOPE_VERSION; }

  // The root of a libtorch of that version.
  fs::path make_torch(const std::string& patch = "1") const {
    const fs::path root = home_ / ("torch-2.99." + patch);
    fs::create_directories(root / "include/torch/headeronly");
    fs::create_directories(root / "include/torch/csrc/api/include");
    fs::create_directories(root / "lib");
    for (const char* library : {"libtorch_cpu.so", "libtorch.so", "libc10.so"}) {
      fs::copy_file(STEPSCOPE_FAKE_TORCH, root / "lib" / library);
    }
    fs::create_directories(root / "include/ATen");
    std::ofstream(root / "include/ATen/ATen.h") << "#error a libtorch that is none\n";
    std::ofstream(root / "include/torch/headeronly/version.h")
        << "#pragma once\n#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 99\n"
        << "#define TORCH_VERSION_PATCH " << patch << "\n#define TORCH_VERSION \"2.99\"\n";
    return root;
  }
  // Puts what was built for 2.99.1 where hooks for `version` are looked for.
  static fs::path put_hooks(const fs::path& folder, const std::string& version) {
    const fs::path file = folder / ("torch-" + version) / "libstepscope_torch.so";
    fs::create_directories(file.parent_path());
    fs::copy_file(STEPSCOPE_FAKE_HOOKS, file);
    return file;
  }

  struct Said {
    int exit_code;
    Json document;
    [[nodiscard]] Json finding(const std::string& id) const {
      for (const Json& finding : document["findings"]) {
        if (finding["id"] == id) return finding;
      }
      return {};
    }
  };
  static Said ask(std::vector<std::string> options) {
    options.insert(options.begin(), {"doctor", "--json"});
    const Outcome outcome = run_stepscope(options);
    EXPECT_EQ(outcome.err, "");
    return {outcome.exit_code, Json::parse(outcome.out)};
  }

  fs::path home_;

 private:
  void remember(const std::string& name) {
    const char* value = std::getenv(name.c_str());
    before_.try_emplace(name, value ? std::optional<std::string>(value) : std::nullopt);
  }
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(DoctorTest, ALibtorchWithoutHooksIsToldTheCommandThatBuildsThem) {
  const fs::path torch = make_torch();
  const Said said = ask({"--torch", torch});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.document["schema"], "stepscope.doctor/1");
  EXPECT_EQ(said.document["stepscope_version"], STEPSCOPE_VERSION);
  EXPECT_EQ(said.document["records_ops"], false);
  EXPECT_EQ(said.finding("libtorch")["state"], "ok");
  EXPECT_EQ(said.finding("libtorch")["what"], "libtorch 2.99.1");
  EXPECT_EQ(said.finding("op-hooks")["state"], "missing");
  EXPECT_EQ(said.finding("op-hooks")["fix"],
            "stepscope doctor --build-hooks --torch " + torch.string());
  // A library that needs a sanitizer's runtime is not tried in a program.
  EXPECT_EQ(said.finding("preload-library")["state"], testing::kSanitized ? "note" : "ok");
  EXPECT_EQ(said.finding("recorder-library")["state"], "ok");
  EXPECT_EQ(said.finding("python-marks")["state"], "ok");
}

TEST_F(DoctorTest, HooksInTheUsersCacheAreFound) {
  const fs::path hooks = put_hooks(cache(), "2.99.1");
  const Said said = ask({"--torch", make_torch()});
  EXPECT_EQ(said.exit_code, 0) << said.document.dump(1);
  EXPECT_EQ(said.document["records_ops"], true);
  EXPECT_EQ(said.finding("op-hooks")["detail"], hooks.string() + " (built here)");
  EXPECT_EQ(said.finding("op-hooks")["fix"], nullptr);
}

TEST_F(DoctorTest, TheCacheIsBelowHomeWhereNothingElseIsSaid) {
  unset("XDG_CACHE_HOME");
  put_hooks(home_ / ".cache/stepscope" / STEPSCOPE_VERSION, "2.99.1");
  EXPECT_EQ(ask({"--torch", make_torch()}).exit_code, 0);
}

TEST_F(DoctorTest, ANamedFolderIsTheOnlyOneLookedAt) {
  put_hooks(cache(), "2.99.1");
  set("STEPSCOPE_HOOKS", home_ / "named");
  const fs::path torch = make_torch();
  const Said without = ask({"--torch", torch});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_EQ(without.finding("op-hooks")["fix"], "unset STEPSCOPE_HOOKS");
  const fs::path hooks = put_hooks(home_ / "named", "2.99.1");
  EXPECT_EQ(ask({"--torch", torch}).finding("op-hooks")["detail"],
            hooks.string() + " (STEPSCOPE_HOOKS)");
}

TEST_F(DoctorTest, HooksOfAnotherVersionDoNotCount) {
  put_hooks(cache(), "2.99.2");
  const Said said = ask({"--torch", make_torch("2")});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.finding("op-hooks")["detail"], HasSubstr("built for libtorch 2.99.1"));
}

TEST_F(DoctorTest, HooksThatDoNotLoadDoNotCount) {
  std::ofstream(put_hooks(cache(), "2.99.1"), std::ios::trunc) << "no library";
  const Said said = ask({"--torch", make_torch()});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.finding("op-hooks")["detail"], HasSubstr("libstepscope_torch.so"));
}

TEST_F(DoctorTest, ALibtorchWithoutHeadersIsToldSo) {
  const fs::path torch = make_torch();
  fs::remove_all(torch / "include");
  std::ofstream(torch / "version.py") << "__version__ = '2.99.1+cpu'\n";
  const Said said = ask({"--torch", torch});
  EXPECT_EQ(said.finding("libtorch")["what"], "libtorch 2.99.1");
  EXPECT_THAT(said.finding("op-hooks")["detail"], HasSubstr("no headers"));
  EXPECT_EQ(said.finding("op-hooks")["fix"], nullptr);
}

// As Debian's python3-torch and nightlies: libtorch itself reports only the numbers.
TEST_F(DoctorTest, HooksAreFoundForATorchWhosePythonNamesMoreThanTheNumbers) {
  const fs::path torch = make_torch();
  fs::remove_all(torch / "include");
  put_hooks(cache(), "2.99.1");
  for (const char* version : {"2.99.1a0", "2.99.1.dev20261101+cu132", "2.99.1rc2", "2.99.1"}) {
    std::ofstream(torch / "version.py") << "__version__ = '" << version << "'\n";
    const Said said = ask({"--torch", torch});
    EXPECT_EQ(said.finding("libtorch")["what"], "libtorch 2.99.1") << version;
    EXPECT_EQ(said.finding("op-hooks")["state"], "ok") << version;
  }
}

TEST_F(DoctorTest, AFolderWithoutLibtorch) {
  const Said said = ask({"--torch", home_});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.finding("libtorch")["state"], "missing");
  EXPECT_THAT(said.finding("libtorch")["detail"], HasSubstr("no lib/libtorch_cpu.so"));
  EXPECT_TRUE(said.finding("op-hooks").is_null());
}

// A script that stands for a Python: doctor must believe what it prints.
TEST_F(DoctorTest, TheTorchOfAPython) {
  const fs::path python = home_ / "python";
  const fs::path torch = make_torch();
  std::ofstream(python) << "#!/bin/sh\necho " << torch.string() << "\n";
  fs::permissions(python, fs::perms::owner_all);
  EXPECT_EQ(ask({"--python", python}).finding("libtorch")["detail"],
            torch.string() + " (imported by " + python.string() + ")");

  std::ofstream(python) << "#!/bin/sh\necho\n";
  const Said without = ask({"--python", python});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_EQ(without.finding("libtorch")["fix"], python.string() + " -m pip install torch");

  const Said missing = ask({"--python", home_ / "no-python"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.finding("libtorch")["detail"], HasSubstr("no such program"));
}

TEST_F(DoctorTest, EveryLibtorchFoundIsARow) {
  set("CMAKE_PREFIX_PATH", make_torch("1").string() + "/share/cmake:" + make_torch("2").string() +
                               ":" + make_torch("3").string() + ";" + make_torch("4").string());
  fs::create_directories(home_ / "torch-2.99.1/share/cmake");
  set("PATH", home_);  // no python3
  const Said said = ask({});
  std::vector<std::string> versions;
  for (const Json& finding : said.document["findings"]) {
    const std::string what = finding["what"];
    if (what.starts_with("libtorch 2.99.")) versions.push_back(what);
  }
  EXPECT_THAT(versions, ElementsAre("libtorch 2.99.1", "libtorch 2.99.2", "libtorch 2.99.3",
                                    "libtorch 2.99.4"));
}

// An older libtorch without hooks is nobody's concern while Python imports one that has them.
TEST_F(DoctorTest, OnlyTheLibtorchInUseIsJudged) {
  const fs::path used = make_torch("1"), other = make_torch("2");
  put_hooks(cache(), "2.99.1");
  const auto make_python = [&](const char* name, const fs::path& torch) {
    fs::create_directories(home_ / "bin");
    std::ofstream(home_ / "bin" / name) << "#!/bin/sh\necho " << torch.string() << "\n";
    fs::permissions(home_ / "bin" / name, fs::perms::owner_all);
  };
  make_python("python", used);
  make_python("python3", other);
  set("PATH", (home_ / "bin").string() + ":/usr/bin:/bin");
  const Said said = ask({});
  EXPECT_EQ(said.exit_code, 0) << said.document.dump(1);
  EXPECT_EQ(said.document["records_ops"], true);
  std::map<std::string, std::string> hooks;  // of each libtorch
  std::string torch, details;
  for (const Json& finding : said.document["findings"]) {
    if (finding["id"] == "libtorch") torch = finding["what"];
    if (finding["id"] == "libtorch") details += finding["detail"].get<std::string>() + "\n";
    if (finding["id"] == "op-hooks") hooks[torch] = finding["state"];
  }
  EXPECT_EQ(hooks["libtorch 2.99.1"], "ok");
  EXPECT_EQ(hooks["libtorch 2.99.2"], "note");
  EXPECT_THAT(details, HasSubstr(used.string() + " (imported by python)\n"));
  EXPECT_THAT(details, HasSubstr(other.string() + " (imported by python3, not in use)\n"));

  // What programs in C++ are built with counts as well.
  set("CMAKE_PREFIX_PATH", other.string() + ":" + make_torch("3").string());
  const Said with_prefix = ask({});
  EXPECT_EQ(with_prefix.exit_code, 1);
  EXPECT_EQ(with_prefix.document["records_ops"], false);
  set("CMAKE_PREFIX_PATH", used.string() + ":" + other.string());
  EXPECT_EQ(ask({}).exit_code, 0);
  unset("CMAKE_PREFIX_PATH");

  make_python("python", "");  // imports none: then it is python3's
  EXPECT_EQ(ask({}).exit_code, 1);
}

// --- what each libtorch gets --------------------------------------------------------------------

TEST_F(DoctorTest, WhatALibtorchGetsAndWhy) {
  const fs::path torch = make_torch();  // exports nothing of libtorch's
  const Json without = ask({"--torch", torch}).document["torches"];
  ASSERT_EQ(without.size(), 1U);
  EXPECT_EQ(without[0]["version"], "2.99.1");
  EXPECT_EQ(without[0]["in_use"], true);
  const Json& gets = without[0]["gets"];
  EXPECT_EQ(gets["ops"]["recorded"], false);
  EXPECT_EQ(gets["ops"]["why"], "op hooks: none for libtorch 2.99.1");
  EXPECT_EQ(gets["phases"]["recorded"], false);
  EXPECT_THAT(gets["phases"]["why"], HasSubstr("exports no _ZN5torch8autograd6Engine7execute"));
  EXPECT_EQ(gets["modules"]["recorded"], false);
  EXPECT_EQ(gets["modules"]["why"], "only of Python programs");

  put_hooks(cache(), "2.99.1");
  const Json with = ask({"--torch", torch}).document["torches"];
  EXPECT_EQ(with[0]["gets"]["ops"], Json({{"recorded", true}, {"why", nullptr}}));
}

TEST_F(DoctorTest, LinesAndModulesDependOnThePythonThatImportsTheLibtorch) {
  put_hooks(cache(), "2.99.1");
  const fs::path python = home_ / "a-python";
  // Answers what find_spec() or, with -I, what the version is asked for.
  const auto gets = [&](const std::string& version) {
    std::ofstream(python) << "#!/bin/sh\nif [ \"$1\" = -I ]; then echo '" << version
                          << "'; else echo " << home_ / "torch-2.99.1" << "; fi\n";
    fs::permissions(python, fs::perms::owner_all);
    const Json found = ask({"--python", python}).document["torches"];
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Json() : found[0]["gets"];
  };
  make_torch();
  EXPECT_EQ(gets("3.11")["lines"]["recorded"], true);
  EXPECT_EQ(gets("3.15")["lines"]["recorded"], true);
  EXPECT_EQ(gets("3.14")["modules"],
            Json({{"recorded", true}, {"why", "with stepscope run --modules"}}));
  for (const char* other : {"3.9", "3.16", "3.14 without the GIL", "pypy 3.11"}) {
    const Json found = gets(other)["lines"];
    EXPECT_EQ(found["recorded"], false) << other;
    EXPECT_THAT(found["why"].get<std::string>(), ::testing::EndsWith(other));
  }
  EXPECT_EQ(gets("/not/a/version")["lines"]["recorded"], nullptr);
}

TEST_F(DoctorTest, ThePageHasARowForEachLibtorch) {
  put_hooks(cache(), "2.99.1");
  const fs::path used = make_torch("1"), other = make_torch("2");
  set("PATH", "/usr/bin:/bin");
  set("CMAKE_PREFIX_PATH", used.string() + ":" + other.string());
  const std::string page = run_stepscope({"doctor"}).out;
  EXPECT_THAT(page,
              HasSubstr("what programs get            ops       phases    lines     modules"));
  EXPECT_THAT(page, HasSubstr("  libtorch 2.99.1              yes       no "));
  EXPECT_THAT(page, ::testing::ContainsRegex("libtorch 2\\.99\\.2 +no .*not in use\n"));
  EXPECT_THAT(page, HasSubstr("    ops                        op hooks: none for libtorch 2.99.2"));
}

TEST_F(DoctorTest, ThePageFitsAHundredColumnsAndCommandsAreWhole) {
  const fs::path torch = make_torch();
  const Outcome outcome = run_stepscope({"doctor", "--torch", torch});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, Not(HasSubstr("\033")));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    // Characters, not bytes: "…" has three.
    const auto width = std::count_if(
        line.begin(), line.end(), [](char c) { return (static_cast<unsigned>(c) & 0xc0) != 0x80; });
    EXPECT_LE(width, 100) << line;
  }
  std::string unbroken = outcome.out;
  for (std::size_t at = 0; (at = unbroken.find(" \\\n", at)) != std::string::npos;) {
    unbroken.replace(at, unbroken.find_first_not_of(' ', at + 3) - at, " ");
  }
  EXPECT_THAT(unbroken, HasSubstr("stepscope doctor --build-hooks --torch " + torch.string()));
  EXPECT_THAT(outcome.out, HasSubstr("ops will not be recorded"));
}

TEST_F(DoctorTest, WithoutACompilerNothingIsBuilt) {
  fs::create_directories(home_ / "bin");
  set("PATH", home_ / "bin");
  const fs::path torch = make_torch();
  const Said said = ask({"--torch", torch});
  EXPECT_EQ(said.finding("build-tools")["state"], "note");
  EXPECT_THAT(said.finding("build-tools")["detail"], HasSubstr("CMake"));
  const Outcome outcome = run_stepscope({"doctor", "--build-hooks", "--torch", torch});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("needs g++"));
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(DoctorTest, ACompilerThatIsTooOldIsToldSo) {
  std::ofstream(home_ / "old-g++") << "#!/bin/sh\necho 'g++ (Debian 9.4.0-1) 9.4.0'\n";
  fs::permissions(home_ / "old-g++", fs::perms::owner_all);
  set("CXX", home_ / "old-g++");
  EXPECT_THAT(ask({"--torch", make_torch()}).finding("build-tools")["detail"],
              HasSubstr("is 9.4.0"));
}

TEST_F(DoctorTest, AFailedBuildNamesItsLogAndLeavesWhatWasThere) {
  const fs::path torch = make_torch();
  const fs::path hooks = put_hooks(cache(), "2.99.1");
  const Outcome outcome = run_stepscope({"doctor", "--build-hooks", "--force", "--torch", torch});
  EXPECT_EQ(outcome.exit_code, 1);
  const fs::path log = cache() / "torch-2.99.1.log";
  EXPECT_THAT(outcome.err, HasSubstr(log.string()));
  EXPECT_THAT(contents(log), HasSubstr("a libtorch that is none"));
  EXPECT_EQ(contents(hooks), contents(STEPSCOPE_FAKE_HOOKS));
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(cache())) left.push_back(entry.path().filename());
  EXPECT_THAT(left, ::testing::UnorderedElementsAre("torch-2.99.1", "torch-2.99.1.log"));
}

TEST_F(DoctorTest, HooksThatAreThereAreNotBuiltAgain) {
  const fs::path hooks = put_hooks(cache(), "2.99.1");
  const Outcome outcome = run_stepscope({"doctor", "--build-hooks", "--torch", make_torch()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, "libtorch 2.99.1: op hooks already exist: " + hooks.string() + "\n");
}

TEST_F(DoctorTest, OptionsThatExcludeEachOther) {
  EXPECT_EQ(run_stepscope({"doctor", "--torch", "a", "--python", "b"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"doctor", "--build-hooks", "--json"}).exit_code, 2);
  EXPECT_EQ(run_stepscope({"doctor", "--force"}).exit_code, 2);
}

}  // namespace
}  // namespace stepscope
