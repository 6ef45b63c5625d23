#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>

#include "samples/cpp/mnist/digits.h"

namespace mnist {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;

constexpr std::size_t kPixels = std::size_t{kSide} * kSide;

TEST(Digits, HaveTheShapeOfMnist) {
  const LabelledImages drawn = draw_digits(7, 1);
  EXPECT_THAT(drawn.images.shape, ElementsAre(7, 28, 28));
  EXPECT_THAT(drawn.labels.shape, ElementsAre(7));
  EXPECT_EQ(drawn.images.bytes.size(), 7 * kPixels);
  EXPECT_EQ(drawn.labels.bytes.size(), 7U);
}

TEST(Digits, DependOnSeedAndIndexAlone) {
  const LabelledImages few = draw_digits(10, 3);
  const LabelledImages many = draw_digits(20, 3);
  EXPECT_TRUE(
      std::equal(few.images.bytes.begin(), few.images.bytes.end(), many.images.bytes.begin()));
  EXPECT_NE(draw_digits(10, 4).images.bytes, few.images.bytes);
}

TEST(Digits, OfAllTenKindsAboutEquallyOften) {
  std::array<int, 10> counts{};
  for (const std::uint8_t label : draw_digits(5000, 1).labels.bytes) ++counts.at(label);
  EXPECT_THAT(counts, Each(Gt(400)));
}

TEST(Digits, AreInkOnPaperAndNoTwoAlike) {
  const LabelledImages drawn = draw_digits(500, 1);
  std::set<std::vector<std::uint8_t>> different;
  for (std::size_t i = 0; i < 500; ++i) {
    const auto begin = drawn.images.bytes.begin() + static_cast<std::ptrdiff_t>(i * kPixels);
    const std::vector<std::uint8_t> image(begin, begin + static_cast<std::ptrdiff_t>(kPixels));
    const auto inked =
        std::count_if(image.begin(), image.end(), [](std::uint8_t p) { return p > 100; });
    EXPECT_GT(inked, 15) << "image " << i;
    EXPECT_LT(inked, 300) << "image " << i;
    different.insert(image);
  }
  EXPECT_EQ(different.size(), 500U);
}

// They can be learned, and not by a glance: the nearest of the ten mean images gets most of them
// right and many wrong.
TEST(Digits, AreNeitherNoiseNorTrivial) {
  constexpr std::size_t kCount = 3000;
  const LabelledImages drawn = draw_digits(kCount, 1);
  std::array<std::array<double, kPixels>, 10> means{};
  std::array<double, 10> counts{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint8_t label = drawn.labels.bytes[i];
    ++counts.at(label);
    for (std::size_t p = 0; p < kPixels; ++p)
      means.at(label)[p] += drawn.images.bytes[i * kPixels + p];
  }
  int right = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    std::array<double, 10> distances{};
    for (std::size_t digit = 0; digit < 10; ++digit) {
      for (std::size_t p = 0; p < kPixels; ++p) {
        const double difference =
            means[digit][p] / counts[digit] - drawn.images.bytes[i * kPixels + p];
        distances[digit] += difference * difference;
      }
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    right += nearest == drawn.labels.bytes[i] ? 1 : 0;
  }
  EXPECT_GT(right, kCount / 2);
  EXPECT_LT(right, kCount * 95 / 100);
}

}  // namespace
}  // namespace mnist
