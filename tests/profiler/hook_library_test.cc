// Which hook library is loaded, and which is refused.
#include "profiler/session/hook_library.h"

#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "profiler/session/hook_places.h"

namespace stepscope {
namespace {

using testing::HasSubstr;

TEST(HookLibraryTest, TellsTheVersionOfTheLoadedLibtorch) {
  const auto torch = find_loaded_torch();
  ASSERT_TRUE(torch.has_value());
  EXPECT_EQ(torch->version, TORCH_VERSION);
  EXPECT_THAT(torch->path, HasSubstr("libtorch_cpu.so"));
}

TEST(HookLibraryTest, ThereAreNoneForAnUnknownVersion) {
  const auto hooks = load_hooks({"libtorch_cpu.so", "0.4.1"});
  ASSERT_FALSE(hooks.ok());
  EXPECT_EQ(hooks.status().kind(), ErrorKind::kUnavailable);
  EXPECT_THAT(hooks.status().message(), HasSubstr("none for libtorch 0.4.1"));
}

TEST(HookLibraryTest, TheLineNamesTheCommandForThisVeryLibtorch) {
  const auto torch = find_loaded_torch();
  ASSERT_TRUE(torch.has_value());
  const auto hooks = load_hooks({torch->path, "0.4.1"});
  ASSERT_FALSE(hooks.ok());
  const std::string command = "stepscope doctor --build-hooks --torch ";
  const std::size_t at = hooks.status().message().find(command);
  ASSERT_NE(at, std::string::npos) << hooks.status().message();
  const std::filesystem::path root = hooks.status().message().substr(at + command.size());
  EXPECT_TRUE(std::filesystem::exists(root / "include/ATen/ATen.h")) << root;
}

// The folder of this program, which is where `own_folder()` looks here, has none.
TEST(HookLibraryTest, WhatDoctorBuiltIsFoundInTheCache) {
  const std::filesystem::path cache = testing::TempDir() + "/stepscope-cache";
  setenv("XDG_CACHE_HOME", cache.c_str(), 1);
  const std::filesystem::path file = hook_cache() / hook_file(TORCH_VERSION);
  EXPECT_TRUE(file.string().starts_with(cache.string()));
  std::filesystem::create_directories(file.parent_path());
  std::filesystem::copy_file(STEPSCOPE_HOOK_LIBRARY, file,
                             std::filesystem::copy_options::overwrite_existing);
  const auto hooks = load_hooks({"libtorch_cpu.so", TORCH_VERSION});
  std::filesystem::remove_all(cache);
  const auto none = load_hooks({"libtorch_cpu.so", TORCH_VERSION});
  unsetenv("XDG_CACHE_HOME");
  EXPECT_TRUE(hooks.ok()) << hooks.status().message();
  EXPECT_FALSE(none.ok());
}

// What libtorch would set anew for nothing, and what it would not.
TEST(HookLibraryTest, KnowsTheCallbacksThatAThreadHas) {
  const std::filesystem::path folder = testing::TempDir() + "/stepscope-hooks-tls";
  const std::filesystem::path place = folder / ("torch-" TORCH_VERSION);
  std::filesystem::create_directories(place);
  std::filesystem::copy_file(STEPSCOPE_HOOK_LIBRARY, place / "libstepscope_torch.so",
                             std::filesystem::copy_options::overwrite_existing);
  setenv("STEPSCOPE_HOOKS", folder.c_str(), 1);
  const auto loaded = load_hooks({"libtorch_cpu.so", TORCH_VERSION});
  unsetenv("STEPSCOPE_HOOKS");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const HookApi& hooks = **loaded;

  const at::RecordFunctionTLS same = at::get_record_function_tls_();
  at::RecordFunctionTLS other = same;
  other.tls_record_function_enabled_ = !same.tls_record_function_enabled_;
  for (const HookMode mode : {HookMode::kOff, HookMode::kUserScopes}) {
    hooks.set_mode(mode);
    EXPECT_FALSE(hooks.is_current_tls(&same)) << "libtorch is left alone";
  }
  hooks.set_mode(HookMode::kOps);
  EXPECT_TRUE(hooks.is_current_tls(&same));
  EXPECT_FALSE(hooks.is_current_tls(&other));
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(nullptr));
  const at::RecordFunctionTLS with_callback = at::get_record_function_tls_();
  EXPECT_FALSE(hooks.is_current_tls(&same)) << "it would take the callback away";
  EXPECT_FALSE(hooks.is_current_tls(&with_callback));
  at::removeCallback(handle);
  EXPECT_FALSE(hooks.is_current_tls(&with_callback)) << "it would bring the callback back";
  EXPECT_TRUE(hooks.is_current_tls(&same));
  hooks.set_mode(HookMode::kOff);
}

// A library of the right name that was built for another libtorch must refuse itself.
TEST(HookLibraryTest, ALibraryInTheWrongFolderIsRefused) {
  const std::filesystem::path folder = testing::TempDir() + "/stepscope-hooks";
  std::filesystem::create_directories(folder / "torch-9.9.9");
  std::filesystem::copy_file(STEPSCOPE_HOOK_LIBRARY, folder / "torch-9.9.9/libstepscope_torch.so",
                             std::filesystem::copy_options::overwrite_existing);
  setenv("STEPSCOPE_HOOKS", folder.c_str(), 1);
  const auto hooks = load_hooks({"libtorch_cpu.so", "9.9.9"});
  unsetenv("STEPSCOPE_HOOKS");
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(hooks.ok());
  EXPECT_THAT(hooks.status().message(), HasSubstr("built for libtorch " TORCH_VERSION));
}

TEST(HookLibraryTest, ALibraryOfAnotherStepscopeIsRefused) {
  void* library = dlopen(STEPSCOPE_HOOK_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto get_hooks = reinterpret_cast<GetHooks>(dlsym(library, kGetHooksSymbol));
  ASSERT_NE(get_hooks, nullptr);
  const char* error = "";
  // Nor is the version enough: a build from other sources has that too.
  for (const std::string& id : {std::string("0.0.0"), hook_cache().filename().string()}) {
    error = "";
    EXPECT_EQ(get_hooks(id.c_str(), TORCH_VERSION, &error), nullptr) << id;
    EXPECT_THAT(error, HasSubstr("belong to Stepscope"));
  }
}

}  // namespace
}  // namespace stepscope
