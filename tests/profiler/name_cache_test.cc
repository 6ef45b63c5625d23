#include "profiler/ring/name_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

namespace stepscope {
namespace {

// What a thread does with a name.
NameId number_of(NameCache& cache, const char* name) {
  NameId id = cache.find_by_pointer(name);
  if (id == NameId::kNone) id = cache.find(name, name);
  if (id == NameId::kNone) id = cache.define(name, name);
  return id;
}

class NameCacheTest : public testing::Test {
 protected:
  std::unique_ptr<NameCache> owned_ = std::make_unique<NameCache>();
  NameCache& cache_ = *owned_;
};

TEST_F(NameCacheTest, EqualTextsAtTwoAddressesAreOne) {
  const std::string one = "aten::add";
  const std::string two = "aten::add";
  EXPECT_EQ(number_of(cache_, one.c_str()), number_of(cache_, two.c_str()));
}

// RecordFunction::name() may point at a string that is gone by the next op.
TEST_F(NameCacheTest, AnAddressThatHoldsAnotherTextNowIsAnotherName) {
  char buffer[32] = "aten::add";
  const NameId add = number_of(cache_, buffer);
  std::strcpy(buffer, "aten::mul");
  EXPECT_EQ(cache_.find_by_pointer(buffer), NameId::kNone);
  const NameId mul = number_of(cache_, buffer);
  EXPECT_NE(add, mul);
  std::strcpy(buffer, "aten::addmm");  // a longer text with the same beginning
  EXPECT_NE(number_of(cache_, buffer), add);
  std::strcpy(buffer, "aten::add");
  EXPECT_EQ(number_of(cache_, buffer), add);
}

// 100,000 different names through a cache of 2,048: a number never stands for two texts.
TEST_F(NameCacheTest, ANumberNeverStandsForTwoTexts) {
  std::map<std::uint32_t, std::string> texts;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 50'000; ++i) {
      const std::string text = "batch " + std::to_string(i);
      const auto number = static_cast<std::uint32_t>(number_of(cache_, text.c_str()));
      const auto known = texts.emplace(number, text);
      ASSERT_EQ(known.first->second, text);
    }
  }
}

TEST_F(NameCacheTest, LongTextsAreNumberedEachTime) {
  const std::string text(NameCache::kMaxCached, 'x');
  EXPECT_NE(number_of(cache_, text.c_str()), NameId::kNone);
  EXPECT_EQ(cache_.find(text, text.c_str()), NameId::kNone);
}

}  // namespace
}  // namespace stepscope
