// Who may read what is served, and which files. What a browser makes of it is tested in
// tests/browser/test_view.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/store/testing/synthetic_run.h"
#include "viewer-export/serve/access.h"
#include "viewer-export/serve/run_server.h"
#include "viewer-export/serve/timeline_page.h"
#include "viewer-export/serve/ui_files.h"

namespace stepscope::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Access, TokensAreLongAndNeverTheSame) {
  const auto one = make_token(), other = make_token();
  ASSERT_TRUE(one && other);
  EXPECT_THAT(*one, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(*one, *other);
}

TEST(Access, TokensAreComparedWhole) {
  EXPECT_TRUE(same_token("abc", "abc"));
  EXPECT_FALSE(same_token("abc", "abd"));
  EXPECT_FALSE(same_token("abc", "ab"));
  EXPECT_FALSE(same_token("", "a"));
}

TEST(Access, OnlyNamesOfTheLoopbackAreHosts) {
  EXPECT_TRUE(host_is_allowed("127.0.0.1:40123"));
  EXPECT_TRUE(host_is_allowed("localhost:8800"));  // a forwarded port
  EXPECT_TRUE(host_is_allowed("127.0.0.1"));
  for (const char* host :
       {"", "evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example",
        "127.0.0.1:80@evil.example", "evil.example:40123", "127.0.0.1:80:90"}) {
    EXPECT_FALSE(host_is_allowed(host)) << host;
  }
}

TEST(Access, OnlyOurOwnPagesAreOrigins) {
  EXPECT_TRUE(
      origin_is_allowed("", "127.0.0.1:1"));  // a browser sends none for its own address bar
  EXPECT_TRUE(origin_is_allowed("http://127.0.0.1:1", "127.0.0.1:1"));
  for (const char* origin : {"null", "http://127.0.0.1:2", "https://127.0.0.1:1",
                             "http://evil.example", "127.0.0.1:1", "file://"}) {
    EXPECT_FALSE(origin_is_allowed(origin, "127.0.0.1:1")) << origin;
  }
}

TEST(Access, PathsLieBehindTheToken) {
  EXPECT_EQ(path_behind_token("/tok/", "tok"), "");
  EXPECT_EQ(path_behind_token("/tok/ui/a.js", "tok"), "ui/a.js");
  for (const char* path : {"/", "", "tok/", "/tok", "/toc/", "/tokk/", "//tok/"}) {
    EXPECT_FALSE(path_behind_token(path, "tok")) << path;
  }
}

TEST(OriginOf, IsSchemeAndHost) {
  EXPECT_EQ(origin_of("https://ui.perfetto.dev"), "https://ui.perfetto.dev");
  EXPECT_EQ(origin_of("http://host:8080/a/b?c#d"), "http://host:8080");
  EXPECT_EQ(origin_of("http://[::1]:80/"), "http://[::1]:80");
  for (const char* none : {"", "ui.perfetto.dev", "ftp://host", "http://", "http://a b",
                           "http://a'b/", "javascript:alert(1)"}) {
    EXPECT_EQ(origin_of(none), "") << none;
  }
}

TEST(PercentEncoded, LeavesOnlyWhatIsSafeAnywhere) {
  EXPECT_EQ(percent_encoded("http://127.0.0.1:1/a-b_c.~"), "http%3A%2F%2F127.0.0.1%3A1%2Fa-b_c.~");
  EXPECT_EQ(percent_encoded("ä#?&"), "%C3%A4%23%3F%26");
}

class UiFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    fs::create_directories(root_ / "v1");
    write(root_ / "index.html", "<html>");
    write(root_ / "v1" / "engine.wasm", "wasm");
    write(root_ / "service_worker.js", "stay");
    write(dir_ / "secret", "secret");
    fs::create_symlink("../secret", root_ / "link");
  }
  static void write(const std::filesystem::path& path, const char* text) {
    std::ofstream(path) << text;
  }

  const TempDir dir_;
  const std::filesystem::path root_ = dir_ / "ui";
};

TEST_F(UiFiles, HaveTheirTypes) {
  const auto page = read_ui_file(root_, "index.html");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->text, "<html>");
  EXPECT_STREQ(page->type, "text/html; charset=utf-8");
  EXPECT_STREQ(read_ui_file(root_, "v1/engine.wasm")->type, "application/wasm");
}

TEST_F(UiFiles, AreThoseOfTheFolderAlone) {
  for (const char* path :
       {"../secret", "v1/../../secret", "link", "v1", "", "none", "/etc/passwd"}) {
    EXPECT_FALSE(read_ui_file(root_, path)) << path;
  }
  EXPECT_FALSE(read_ui_file(root_, std::string_view("index.html\0.js", 14)));
  EXPECT_FALSE(read_ui_file("", "index.html"));
}

TEST_F(UiFiles, HaveNoServiceWorker) { EXPECT_FALSE(read_ui_file(root_, "service_worker.js")); }

TEST(TimelineScript, TakesAnyTitle) {
  const std::string script = timeline_script("https://ui.example", "</script>\"\n\xff");
  EXPECT_THAT(script, HasSubstr("const UI = \"https://ui.example\";"));
  EXPECT_THAT(script, HasSubstr("const TITLE = \"</script>\\\"\\n\\ufffd\";"));
}

// The pages of a run, without a run.
RunServer::Content some_content() {
  RunServer::Content content;
  content.report = [] { return Result<std::string>(std::string("<html>")); };
  content.trace = [](ByteSink& sink) { return sink.finish(); };
  return content;
}

TEST(RunServerTest, ServesAtAnAddressOfItsOwn) {
  if (!can_serve_runs()) GTEST_SKIP() << "built without cpp-httplib";
  const auto one = RunServer::start(some_content());
  const auto other = RunServer::start(some_content());
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_THAT((*one)->address(), MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/[0-9a-f]{32}/"));
  EXPECT_NE((*one)->address(), (*other)->address());
  (*one)->stop();
  (*one)->stop();  // twice is no harm
}

TEST(RunServerTest, RefusesAPortThatIsTakenAndAnAddressThatIsNone) {
  if (!can_serve_runs()) GTEST_SKIP() << "built without cpp-httplib";
  const auto one = RunServer::start(some_content());
  ASSERT_TRUE(one.ok());
  const std::string address = (*one)->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  const auto other = RunServer::start(some_content(), port);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.status().message(), HasSubstr(std::to_string(port)));
  RunServer::Content content = some_content();
  content.ui_address = "nowhere";
  EXPECT_EQ(RunServer::start(std::move(content)).status().kind(), ErrorKind::kUsage);
}

}  // namespace
}  // namespace stepscope::testing
