// Which hook library is loaded, and which is refused.
#include "profiler/session/hook_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <cstdlib>
#include <filesystem>

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
  EXPECT_THAT(hooks.status().message(), HasSubstr("there are none for libtorch 0.4.1"));
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
  EXPECT_EQ(get_hooks("0.0.0", TORCH_VERSION, &error), nullptr);
  EXPECT_THAT(error, HasSubstr("belong to Stepscope"));
}

}  // namespace
}  // namespace stepscope
