// Who gets the metrics: scrapers, but no web page.
#include "metrics/scrape_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/viewer-export/loopback_client.h"

namespace stepscope {
namespace {

using testing::connect_to;
using ::testing::HasSubstr;
using testing::receive_all;
using testing::send_text;
using ::testing::StartsWith;

const Metrics kOne = {{"stepscope_one", MetricType::kGauge, "", "One.", {{{}, 1}}}};
const ListenAddress kLoopback{"127.0.0.1", 9478};

Request get(const std::string& path) {
  Request request;
  request.method = "GET";
  request.path = path;
  request.host = "127.0.0.1:9478";
  return request;
}

TEST(AnswerScrape, IsThePageOfMetrics) {
  const Answer answer = answer_scrape(get("/metrics"), kLoopback, kOne);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("stepscope_one 1\n"));
  EXPECT_THAT(head_of(answer), HasSubstr("Content-Type: text/plain; version=0.0.4"));
}

TEST(AnswerScrape, IsInTheDialectThatIsAccepted) {
  Request request = get("/metrics");
  request.accept = "application/openmetrics-text; version=1.0.0";
  const Answer answer = answer_scrape(request, kLoopback, kOne);
  EXPECT_THAT(head_of(answer), HasSubstr("Content-Type: application/openmetrics-text"));
  EXPECT_THAT(answer.body, HasSubstr("# EOF\n"));
}

TEST(AnswerScrape, NothingElseIsThere) {
  for (const char* path : {"/", "/metrics/", "/metrics/../etc/passwd", "/debug"})
    EXPECT_EQ(answer_scrape(get(path), kLoopback, kOne).status, 404) << path;
  Request request = get("/metrics");
  request.method = "POST";
  EXPECT_EQ(answer_scrape(request, kLoopback, kOne).status, 405);
}

TEST(AnswerScrape, WebPagesGetNothing) {
  Request request = get("/metrics");
  request.origin = "http://127.0.0.1:9478";
  EXPECT_EQ(answer_scrape(request, kLoopback, kOne).status, 403);
}

TEST(AnswerScrape, OnTheLoopbackTheHostIsTheLoopback) {
  Request request = get("/metrics");
  request.host = "evil.example:9478";  // a name that was made to resolve to 127.0.0.1
  EXPECT_EQ(answer_scrape(request, kLoopback, kOne).status, 403);
  EXPECT_EQ(answer_scrape(request, {"0.0.0.0", 9478}, kOne).status, 200);
  request.host = "[::1]:9478";
  EXPECT_EQ(answer_scrape(request, {"::1", 9478}, kOne).status, 200);
}

std::string request_over_tcp(int port, const std::string& text) {
  const Socket socket = connect_to(port);
  send_text(socket, text);
  return receive_all(socket);
}

constexpr char kGet[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST(ScrapeServerTest, AnswersAsLongAsItLives) {
  LatestMetrics latest;
  latest.set(kOne);
  auto server = *ScrapeServer::listen({"127.0.0.1", 0}, latest);
  ASSERT_TRUE(server->start().ok());
  const int port = server->address().port;
  EXPECT_GT(port, 0);
  EXPECT_THAT(request_over_tcp(port, kGet), HasSubstr("stepscope_one 1\n"));
  EXPECT_THAT(request_over_tcp(port, "GET /metrics\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  server.reset();
  EXPECT_TRUE(ScrapeServer::listen({"127.0.0.1", port}, latest).ok());
}

TEST(ScrapeServerTest, LargePagesArriveWhole) {
  Metrics metrics = kOne;
  for (int i = 0; i < 100'000; ++i) metrics[0].points.push_back({{{"rank", std::to_string(i)}}, 1});
  LatestMetrics latest;
  latest.set(metrics);
  const auto server = *ScrapeServer::listen({"127.0.0.1", 0}, latest);
  ASSERT_TRUE(server->start().ok());
  EXPECT_THAT(request_over_tcp(server->address().port, kGet),
              ::testing::EndsWith("stepscope_one{rank=\"99999\"} 1\n"));
}

TEST(ScrapeServerTest, SilentClientsHoldNobodyUp) {
  LatestMetrics latest;
  latest.set(kOne);
  const auto server = *ScrapeServer::listen({"127.0.0.1", 0}, latest);
  ASSERT_TRUE(server->start().ok());
  std::vector<Socket> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connect_to(server->address().port));
  EXPECT_THAT(request_over_tcp(server->address().port, kGet), HasSubstr("stepscope_one 1\n"));
}

TEST(ScrapeServerTest, ATakenPortIsNamed) {
  LatestMetrics latest;
  const auto server = *ScrapeServer::listen({"127.0.0.1", 0}, latest);
  const auto other = ScrapeServer::listen(server->address(), latest);
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.status().message(), HasSubstr(std::to_string(server->address().port)));
  EXPECT_THAT(other.status().message(), HasSubstr("in use"));
}

}  // namespace
}  // namespace stepscope
