// The variable by which W&B finds the metrics: what the user has in it stays.
#include "metrics/wandb_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope {
namespace {

constexpr char kUrl[] = "http://127.0.0.1:9478/metrics";

TEST(WandbEndpoints, NameOurs) {
  EXPECT_EQ(*add_wandb_endpoint("", kUrl), R"({"stepscope":"http://127.0.0.1:9478/metrics"})");
}

TEST(WandbEndpoints, KeepTheUsersOwn) {
  EXPECT_EQ(
      *add_wandb_endpoint(R"({"dcgm": "http://127.0.0.1:9400/metrics"})", kUrl),
      R"({"dcgm":"http://127.0.0.1:9400/metrics","stepscope":"http://127.0.0.1:9478/metrics"})");
  EXPECT_EQ(*add_wandb_endpoint(R"({"stepscope":"http://elsewhere/metrics"})", kUrl),
            R"({"stepscope":"http://elsewhere/metrics"})");
}

TEST(WandbEndpoints, LeaveAValueAloneThatIsNone) {
  for (const char* text : {"http://127.0.0.1:9400", "[]", "{", "1"}) {
    const auto value = add_wandb_endpoint(text, kUrl);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_THAT(value.status().message(), ::testing::HasSubstr(kWandbVariable));
  }
}

}  // namespace
}  // namespace stepscope
