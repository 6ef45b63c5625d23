// Where metrics are served. Other machines can connect only if the user said so.
#include "metrics/listen_address.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(ListenAddressTest, AloneAPortIsOfTheLoopback) {
  for (const char* text : {"9478", ":9478", "127.0.0.1:9478", "localhost:9478"}) {
    const auto address = read_listen_address(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(*address, (ListenAddress{"127.0.0.1", 9478})) << text;
    EXPECT_TRUE(address->is_loopback());
    EXPECT_EQ(address->url(), "http://127.0.0.1:9478/metrics");
  }
}

TEST(ListenAddressTest, OtherMachinesAreNamedExplicitly) {
  EXPECT_FALSE(read_listen_address("0.0.0.0:80")->is_loopback());
  EXPECT_FALSE(read_listen_address("[::]:80")->is_loopback());
  EXPECT_FALSE(read_listen_address("10.0.0.7:80")->is_loopback());
  EXPECT_TRUE(read_listen_address("[::1]:80")->is_loopback());
}

TEST(ListenAddressTest, TheUrlIsOneThatThisMachineReaches) {
  EXPECT_EQ(read_listen_address("0.0.0.0:80")->url(), "http://127.0.0.1:80/metrics");
  EXPECT_EQ(read_listen_address("[::]:80")->url(), "http://[::1]:80/metrics");
  EXPECT_EQ(read_listen_address("10.0.0.7:80")->url(), "http://10.0.0.7:80/metrics");
}

TEST(ListenAddressTest, AnythingElseIsRefused) {
  for (const char* text : {"", "python", "train.py:80", "1.2.3.4", "1.2.3.4:", "1.2.3.4:65536",
                           "-1", "80x", "::1:80", "[1.2.3.4]:80", "[]:80", "1.2.3:80"}) {
    const auto address = read_listen_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().kind(), ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace stepscope
