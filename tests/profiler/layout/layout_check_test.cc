// Hooks that were compiled with another layout of RecordFunction refuse themselves.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "profiler/session/hook_library.h"

namespace stepscope {
namespace {

using testing::HasSubstr;

bool check(const std::string& layout) {
  const std::string file = std::string(STEPSCOPE_LAYOUTS) + "/" + layout + ".so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<bool (*)()>(dlsym(library, "stepscope_layout_check"))();
}

TEST(LayoutCheckTest, TheLayoutOfTheHeadersFits) { EXPECT_TRUE(check("same")); }

// Where a thread has disabled callbacks, or has none of libtorch's state yet.
TEST(LayoutCheckTest, ItDoesNotDependOnTheThread) {
  {
    const at::RecordFunctionGuard disabled(false);
    EXPECT_TRUE(check("same"));
    EXPECT_FALSE(at::isRecordFunctionEnabled()) << "as it was before";
  }
  bool fits = false;
  std::thread([&] { fits = check("same"); }).join();
  EXPECT_TRUE(fits);
}

TEST(LayoutCheckTest, NothingOfTheCheckStays) {
  ASSERT_TRUE(check("same"));
  EXPECT_FALSE(at::hasCallbacks());
  EXPECT_TRUE(at::isRecordFunctionEnabled());
}

class ChangedLayoutTest : public testing::TestWithParam<const char*> {};

TEST_P(ChangedLayoutTest, DoesNotFit) {
  EXPECT_FALSE(check(GetParam()));
  EXPECT_FALSE(at::hasCallbacks());
  EXPECT_EQ(at::add(at::ones({2}), 1).sum().item<double>(), 4) << "libtorch works as before";
}

INSTANTIATE_TEST_SUITE_P(, ChangedLayoutTest,
                         testing::Values("earlier_member", "later_member", "callbacks_member",
                                         "another_scope", "thread_member"),
                         [](const auto& layout) { return std::string(layout.param); });

TEST(LayoutCheckTest, HooksWithAnotherLayoutAreRefused) {
  setenv("STEPSCOPE_HOOKS", STEPSCOPE_OTHER_HOOKS, 1);
  const auto hooks = load_hooks({"libtorch_cpu.so", TORCH_VERSION});
  unsetenv("STEPSCOPE_HOOKS");
  ASSERT_FALSE(hooks.ok());
  EXPECT_THAT(hooks.status().message(),
              HasSubstr("they do not fit this build of libtorch " TORCH_VERSION));
  EXPECT_THAT(hooks.status().message(), HasSubstr("phases are recorded, ops are not"));
}

}  // namespace
}  // namespace stepscope
