#include "viewer-export/gzip_sink.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <tuple>

namespace stepscope {
namespace {

struct Unzipped {
  std::string text;
  bool one_whole_member = false;
};

// One member and nothing after it: what the strictest viewer reads.
Unzipped unzip(const std::string& bytes) {
  z_stream stream = {};
  EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  std::string input = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  Unzipped result;
  int code = Z_OK;
  while (code == Z_OK) {
    char chunk[1 << 14];
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    code = inflate(&stream, Z_NO_FLUSH);
    result.text.append(chunk, sizeof chunk - stream.avail_out);
  }
  result.one_whole_member = code == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return result;
}

class GzipSink : public ::testing::TestWithParam<std::tuple<GzipEngine, int>> {
 protected:
  void SetUp() override {
    const auto [engine, level] = GetParam();
    gzip_ = make_gzip_sink(inner_, level, engine);
    if (gzip_ == nullptr) GTEST_SKIP() << "this build is without that compressor";
  }
  StringSink inner_;
  std::unique_ptr<ByteSink> gzip_;
};

TEST_P(GzipSink, NothingIsAWholeMemberToo) {
  ASSERT_TRUE(gzip_->finish().ok());
  EXPECT_TRUE(unzip(inner_.text()).one_whole_member);
  EXPECT_EQ(unzip(inner_.text()).text, "");
}

TEST_P(GzipSink, ManyWritesBecomeOneMember) {
  std::mt19937 random(3);
  std::string all;
  for (int i = 0; i < 300; ++i) {
    std::string part(random() % 20'000, ' ');
    // Half of it does not compress, so that the output outgrows the compressor's buffer.
    for (char& c : part)
      c = i % 2 == 0 ? static_cast<char>(random()) : "{\"ph\":\"X\"}"[random() % 10];
    ASSERT_TRUE(gzip_->write(part).ok());
    all += part;
  }
  ASSERT_TRUE(gzip_->finish().ok());
  const Unzipped unzipped = unzip(inner_.text());
  EXPECT_TRUE(unzipped.one_whole_member);
  EXPECT_EQ(unzipped.text, all);
}

TEST_P(GzipSink, PassesOnWhatTheNextSinkReports) {
  class Full final : public ByteSink {
    Status write(std::string_view) override { return Status::error(ErrorKind::kIo, "full"); }
    Status finish() override { return {}; }
  } full;
  const auto [engine, level] = GetParam();
  const auto gzip = make_gzip_sink(full, level, engine);
  Status status = gzip->write(std::string(1000, 'x'));
  if (status.ok()) status = gzip->finish();
  EXPECT_EQ(status.message(), "full");
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<GzipEngine, int>>& test) {
  const auto engine = std::get<0>(test.param);
  return (engine == GzipEngine::kIsal ? "Isal" : "Zlib") + std::to_string(std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Engines, GzipSink,
                         ::testing::Combine(::testing::Values(GzipEngine::kIsal, GzipEngine::kZlib),
                                            ::testing::Range(kGzipFast, kGzipSmall + 1)),
                         name_of);

}  // namespace
}  // namespace stepscope
