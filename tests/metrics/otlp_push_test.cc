// Pushes to collectors that are not there, or do not answer: each ends soon.
#include "metrics/otlp_push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "viewer-export/serve/socket.h"

namespace stepscope {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

class OtlpPushTest : public ::testing::Test {
 protected:
  // Null without a libcurl.
  std::unique_ptr<OtlpPush> push_to(int port) {
    OtlpSettings settings;
    settings.url = "http://127.0.0.1:" + std::to_string(port) + "/v1/metrics";
    settings.interval = milliseconds(20);
    settings.timeout = std::chrono::hours(1);
    auto push = OtlpPush::prepare(settings, "1.2.3", latest_);
    return push.ok() ? *std::move(push) : nullptr;
  }

  LatestMetrics latest_;
};

TEST_F(OtlpPushTest, ADeadCollectorIsReported) {
  const auto push = push_to(1);
  if (push == nullptr) GTEST_SKIP() << "there is no libcurl";
  ASSERT_TRUE(push->start().ok());
  push->stop();
  EXPECT_THAT(push->problem(), HasSubstr("http://127.0.0.1:1/v1/metrics: "));
}

TEST_F(OtlpPushTest, ASilentCollectorDoesNotHoldUpTheEnd) {
  int port = 0;
  const Socket silent = *listen_on_loopback(port);
  const auto push = push_to(port);
  if (push == nullptr) GTEST_SKIP() << "there is no libcurl";
  ASSERT_TRUE(push->start().ok());
  latest_.set({{"stepscope_steps", MetricType::kCounter, "", "Steps.", {{{}, 1}}}});
  std::this_thread::sleep_for(milliseconds(300));  // it waits for the answer, for an hour
  push->stop();
  EXPECT_THAT(push->problem(), HasSubstr("1 of 1 pushes failed"));
}

TEST_F(OtlpPushTest, EndsWithoutEverHavingStarted) {
  const auto push = push_to(1);
  if (push == nullptr) GTEST_SKIP() << "there is no libcurl";
  push->stop();
  EXPECT_EQ(push->problem(), "");
}

}  // namespace
}  // namespace stepscope
