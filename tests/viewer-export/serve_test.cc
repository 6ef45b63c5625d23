// Who may read what is served, and which files. What a browser makes of it is tested in
// tests/browser/test_view.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/store/testing/synthetic_run.h"
#include "tests/viewer-export/loopback_client.h"
#include "viewer-export/serve/access.h"
#include "viewer-export/serve/reception.h"
#include "viewer-export/serve/request.h"
#include "viewer-export/serve/run_server.h"
#include "viewer-export/serve/site.h"
#include "viewer-export/serve/socket.h"
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

TEST(ReadHead, TakesWhatABrowserSends) {
  const std::string text =
      "GET /tok/ui/a%20b.js?v=%zz HTTP/1.1\r\nHost: 127.0.0.1:80\r\nX-Other:\r\n"
      "ORIGIN: \thttp://127.0.0.1:80 \r\n\r\n";
  EXPECT_EQ(end_of_head(text + "body"), text.size());
  EXPECT_FALSE(end_of_head(text.substr(0, text.size() - 1)));
  const auto request = read_head(text);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/tok/ui/a b.js");
  EXPECT_EQ(request->host, "127.0.0.1:80");
  EXPECT_EQ(request->origin, "http://127.0.0.1:80");
}

TEST(ReadHead, RefusesWhatCouldBeReadInTwoWays) {
  const std::string host = "Host: localhost\r\n";
  const std::string line = "GET / HTTP/1.1\r\n";
  EXPECT_TRUE(read_head(line + host + "\r\n"));
  for (const std::string& head : {std::string(),
                                  std::string("\r\n\r\n"),
                                  line,
                                  line + host,
                                  line + "\r\n",                                   // no Host
                                  line + host + host + "\r\n",                     // two
                                  line + host + "Origin: a\r\nOrigin: b\r\n\r\n",  //
                                  line + host + " folded\r\n\r\n",                 //
                                  line + host + "Name : value\r\n\r\n",            //
                                  line + host + ": value\r\n\r\n",                 //
                                  line + host + "no colon\r\n\r\n",                //
                                  line + "Host: local\rhost\r\n\r\n",              //
                                  line + "Host: local\nhost\r\n\r\n",              //
                                  "GET / HTTP/1.0\r\n" + host + "\r\n",            //
                                  "GET /\r\n" + host + "\r\n",                     //
                                  "GET  / HTTP/1.1\r\n" + host + "\r\n",           //
                                  "G(T / HTTP/1.1\r\n" + host + "\r\n",            //
                                  "GET http://a/ HTTP/1.1\r\n" + host + "\r\n",    //
                                  "GET /% HTTP/1.1\r\n" + host + "\r\n",           //
                                  "GET /%0g HTTP/1.1\r\n" + host + "\r\n",         //
                                  "GET /%0d%0a HTTP/1.1\r\n" + host + "\r\n",      //
                                  "GET /%00 HTTP/1.1\r\n" + host + "\r\n"}) {
    EXPECT_FALSE(read_head(head)) << head;
  }
}

// The pages of a run, without a run.
RunServer::Content some_content() {
  RunServer::Content content;
  content.report = [] { return Result<std::string>(std::string("<html>")); };
  content.trace = [](ByteSink& sink) { return sink.finish(); };
  return content;
}

TEST(RunServerTest, ServesAtAnAddressOfItsOwn) {
  const auto one = RunServer::start(some_content());
  const auto other = RunServer::start(some_content());
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_THAT((*one)->address(), MatchesRegex("http://127\\.0\\.0\\.1:[0-9]+/[0-9a-f]{32}/"));
  EXPECT_NE((*one)->address(), (*other)->address());
  (*one)->stop();
  (*one)->stop();  // twice is no harm
}

TEST(RunServerTest, RefusesAPortThatIsTakenAndAnAddressThatIsNone) {
  const auto one = RunServer::start(some_content());
  ASSERT_TRUE(one.ok());
  const std::string address = (*one)->address();
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  const auto other = RunServer::start(some_content(), port);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().message(),
            "cannot listen on 127.0.0.1 port " + std::to_string(port) +
                ": Address already in use; choose another port or omit --port");
  RunServer::Content content = some_content();
  content.ui_address = "nowhere";
  EXPECT_EQ(RunServer::start(std::move(content)).status().kind(), ErrorKind::kUsage);
}

constexpr std::chrono::minutes kNeverInATest{30};

// A Reception on a thread; keeps the heads that have arrived, and answers each with "ok".
class RunningReception {
 public:
  explicit RunningReception(Reception::Limits limits)
      : reception_(*listen_on_loopback(port_), limits,
                   [this](Socket socket, const std::string& head) {
                     keep(head);
                     send_and_close(std::move(socket), "ok");
                   }),
        thread_([this] { EXPECT_TRUE(reception_.run().ok()); }) {}
  ~RunningReception() {
    reception_.stop();
    thread_.join();
  }
  [[nodiscard]] int port() const { return port_; }
  std::vector<std::string> heads() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return heads_;
  }

 private:
  void keep(const std::string& head) {
    const std::lock_guard<std::mutex> guard(mutex_);
    heads_.push_back(head);
  }

  int port_ = 0;
  std::mutex mutex_;
  std::vector<std::string> heads_;  // guarded by mutex_
  Reception reception_;
  std::thread thread_;
};

constexpr char kSomeHead[] = "GET / HTTP/1.1\r\n\r\n";

TEST(ReceptionTest, PassesAHeadOnOnceItIsWhole) {
  RunningReception reception({4, kNeverInATest});
  const Socket socket = connect_to(reception.port());
  for (const char c : std::string_view(kSomeHead)) ASSERT_TRUE(send_text(socket, {&c, 1}));
  EXPECT_EQ(receive_all(socket), "ok");
  EXPECT_THAT(reception.heads(), ::testing::ElementsAre(kSomeHead));
}

TEST(ReceptionTest, TakesNoMoreThanTheHead) {
  RunningReception reception({4, kNeverInATest});
  const Socket socket = connect_to(reception.port());
  ASSERT_TRUE(send_text(socket, kSomeHead + std::string(1000, 'x')));
  EXPECT_EQ(receive_all(socket), "ok");
  EXPECT_THAT(reception.heads(), ::testing::ElementsAre(kSomeHead));
}

// However steadily its bytes come: with a limit for each read, this one would stay for ever.
TEST(ReceptionTest, EndsAConnectionWhoseHeadDrips) {
  RunningReception reception({4, std::chrono::milliseconds(200)});
  const Socket socket = connect_to(reception.port());
  while (send_text(socket, "x")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(reception.heads(), ::testing::IsEmpty());
}

TEST(ReceptionTest, SaysWhyToALateHead) {
  RunningReception reception({4, std::chrono::milliseconds(50)});
  const Socket silent = connect_to(reception.port()), late = connect_to(reception.port());
  ASSERT_TRUE(send_text(late, "GET "));
  EXPECT_THAT(receive_all(late), ::testing::StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(receive_all(silent), "");
}

TEST(ReceptionTest, RefusesAHeadWithoutEnd) {
  RunningReception reception({4, kNeverInATest});
  const Socket socket = connect_to(reception.port());
  send_text(socket, std::string(kLargestHead, 'x'));
  EXPECT_THAT(receive_all(socket), ::testing::StartsWith("HTTP/1.1 431 "));
}

TEST(ReceptionTest, SendsAwayWhoHasWaitedLongestWhenTooManyCome) {
  RunningReception reception({3, kNeverInATest});
  std::vector<Socket> silent;
  for (int i = 0; i < 3; ++i) silent.push_back(connect_to(reception.port()));
  const Socket honest = connect_to(reception.port());
  EXPECT_EQ(receive_all(silent.front()), "");  // its end
  ASSERT_TRUE(send_text(honest, kSomeHead));
  EXPECT_EQ(receive_all(honest), "ok");
  for (int i = 1; i < 3; ++i) {
    ASSERT_TRUE(send_text(silent[static_cast<std::size_t>(i)], kSomeHead));
    EXPECT_EQ(receive_all(silent[static_cast<std::size_t>(i)]), "ok");
  }
}

int port_of(const RunServer& server) {
  const std::string& address = server.address();
  return std::stoi(address.substr(std::string_view("http://127.0.0.1:").size()));
}

Socket ask(const RunServer& server, const std::string& path) {
  Socket socket = connect_to(port_of(server));
  const std::string& address = server.address();
  const std::string base = address.substr(address.rfind('/', address.size() - 2));
  EXPECT_TRUE(send_text(socket, "GET " + base + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  return socket;
}

std::string get(const RunServer& server, const std::string& path) {
  return receive_all(ask(server, path));
}

TEST(RunServerTest, AnswersBesideClientsThatSendSlowlyOrNothing) {
  constexpr int kClients = 200;
  const auto server = RunServer::start(some_content());
  ASSERT_TRUE(server.ok());
  std::vector<Socket> clients;
  std::atomic<bool> over = false;
  for (int i = 0; i < kClients; ++i) clients.push_back(connect_to(port_of(**server)));
  std::thread dripping([&] {
    while (!over) {
      for (std::size_t i = 0; i < clients.size(); i += 2) send_text(clients[i], "G");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  for (int i = 0; i < 20; ++i) {
    const std::string answer = get(**server, "");
    EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\n<html>"));
  }
  over = true;
  dripping.join();
}

// Whoever has no token gets an answer even while all threads make answers.
TEST(RunServerTest, RefusesWithoutAThread) {
  std::mutex mutex;
  std::condition_variable changed;
  bool go_on = false;
  RunServer::Content content = some_content();
  content.report = [&]() -> Result<std::string> {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return go_on; });
    return std::string("made");
  };
  const auto server = RunServer::start(std::move(content));
  ASSERT_TRUE(server.ok());
  std::vector<std::thread> waiting;
  std::atomic<int> made = 0;
  constexpr int kMoreThanItsThreads = 40;
  for (int i = 0; i < kMoreThanItsThreads; ++i) {
    waiting.emplace_back([&] { made += get(**server, "").ends_with("made") ? 1 : 0; });
  }
  const Socket stranger = connect_to(port_of(**server));
  ASSERT_TRUE(send_text(stranger, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  EXPECT_THAT(receive_all(stranger), ::testing::StartsWith("HTTP/1.1 403 "));
  {
    const std::lock_guard<std::mutex> guard(mutex);
    go_on = true;
  }
  changed.notify_all();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_EQ(made, kMoreThanItsThreads);
}

TEST(RunServerTest, SendsATraceInChunksAndLeavesABrokenOneWithoutItsEnd) {
  RunServer::Content content = some_content();
  std::atomic<bool> breaks = false;
  content.trace = [&](ByteSink& sink) {
    Status status = sink.write("abc");
    if (status.ok()) status = sink.write(std::string(20, 'd'));
    return breaks ? Status::error(ErrorKind::kBadInput, "broken") : status;
  };
  const auto server = RunServer::start(std::move(content));
  ASSERT_TRUE(server.ok());
  const std::string chunks = "\r\n\r\n3\r\nabc\r\n14\r\n" + std::string(20, 'd') + "\r\n";
  EXPECT_THAT(get(**server, "trace.json.gz"), ::testing::EndsWith(chunks + "0\r\n\r\n"));
  breaks = true;
  EXPECT_THAT(get(**server, "trace.json.gz"), ::testing::EndsWith(chunks));
}

TEST(RunServerTest, SaysWhyThereIsNoTrace) {
  RunServer::Content content = some_content();
  bool throws = false;
  content.trace = [&](ByteSink&) -> Status {
    if (throws) throw std::bad_alloc();
    return Status::error(ErrorKind::kBadInput, "run.db: damaged");
  };
  const auto server = RunServer::start(std::move(content));
  ASSERT_TRUE(server.ok());
  const std::string refused = get(**server, "trace.json.gz");
  EXPECT_THAT(refused, ::testing::StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(refused, ::testing::EndsWith("\r\n\r\nrun.db: damaged\n"));
  throws = true;
  EXPECT_THAT(get(**server, "trace.json.gz"), ::testing::StartsWith("HTTP/1.1 500 "));
}

TEST(RunServerTest, EndsThoughABrowserTakesNothing) {
  RunServer::Content content = some_content();
  std::atomic<bool> begun = false;
  content.trace = [&](ByteSink& sink) {
    const std::string piece(1 << 20, 'x');
    Status status;
    while (status.ok()) {
      status = sink.write(piece);
      begun = true;
    }
    return status;
  };
  const auto server = RunServer::start(std::move(content));
  ASSERT_TRUE(server.ok());
  const Socket browser = ask(**server, "trace.json.gz");
  while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  (*server)->stop();
}

TEST(SiteTest, MakesAnErrorOfAPageThatThrows) {
  RunServer::Content content = some_content();
  content.report = []() -> Result<std::string> { throw std::bad_alloc(); };
  EXPECT_EQ(Site(std::move(content), "tok").answer({"GET", "/tok/", "localhost", ""}).status, 500);
}

}  // namespace
}  // namespace stepscope::testing
