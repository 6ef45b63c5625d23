#include "samples/cpp/mnist/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

namespace mnist {
namespace {

constexpr std::size_t kPixels = std::size_t{kSide} * kSide;

struct Point {
  double x;  // to the right; the glyph's box is 0 to 1
  double y;  // downwards
};
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;
using Canvas = std::array<double, kPixels>;  // ink, 0 to 1

// SplitMix64 (Steele, Lea, Flood 2014). The standard distributions differ between libraries; this
// one is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(bits() >> 11U) * 0x1p-53;
  }
  // Nearly normal, with mean 0 and deviation 1: the sum of four uniform numbers of variance 1/4
  // each.
  double normal() {
    const double spread = std::sqrt(3.0) / 2.0;
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += uniform(-spread, spread);
    return sum;
  }

 private:
  std::uint64_t state_;
};

// Points on an arc of an ellipse; angles in turns, clockwise from the right.
Stroke arc(Point center, Point radius, double from, double to) {
  constexpr int kPieces = 10;
  Stroke points;
  for (int i = 0; i <= kPieces; ++i) {
    const double angle = 2 * std::numbers::pi * (from + (to - from) * i / kPieces);
    points.push_back(
        {center.x + radius.x * std::cos(angle), center.y + radius.y * std::sin(angle)});
  }
  return points;
}

Stroke joined(Stroke first, const Stroke& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::array<Glyph, 10> make_glyphs() {
  return {{
      {arc({.5, .5}, {.27, .42}, 0, 1)},
      {{{.35, .25}, {.52, .08}, {.52, .92}}},
      {joined(arc({.48, .32}, {.27, .24}, .52, 1.08), {{.2, .9}, {.8, .9}})},
      {joined(arc({.46, .3}, {.26, .21}, .55, 1.22), arc({.46, .7}, {.3, .22}, -.2, .45))},
      {{{.66, .92}, {.66, .08}, {.18, .64}, {.84, .64}}},
      {joined({{.76, .1}, {.3, .1}, {.27, .46}}, arc({.46, .66}, {.29, .25}, -.37, .42))},
      {joined({{.68, .1}, {.4, .3}, {.24, .6}}, arc({.5, .69}, {.26, .22}, .5, 1.5))},
      {{{.2, .1}, {.8, .1}, {.42, .92}}},
      {arc({.5, .29}, {.22, .2}, 0, 1), arc({.5, .71}, {.27, .22}, 0, 1)},
      {joined(arc({.5, .32}, {.25, .22}, 0, 1), {{.74, .5}, {.6, .92}})},
  }};
}

// How one writer holds the pen: an affine map from the glyph's box to pixels, and a wave on top.
class Hand {
 public:
  explicit Hand(Random& random)
      : angle_(random.uniform(-.26, .26)),
        slant_(random.uniform(-.25, .35)),
        width_(random.uniform(13, 21)),
        height_(random.uniform(17, 22)),
        center_{kSide / 2.0 + random.uniform(-2.5, 2.5), kSide / 2.0 + random.uniform(-2.5, 2.5)},
        wave_{random.uniform(0, .05), random.uniform(0, .05)},
        wave_start_{random.uniform(0, 6.3), random.uniform(0, 6.3)} {}

  [[nodiscard]] Point to_pixels(Point p) const {
    const double y = (p.y - .5 + wave_.y * std::sin(6 * p.x + wave_start_.y)) * height_;
    const double x = (p.x - .5 + wave_.x * std::sin(6 * p.y + wave_start_.x)) * width_ - slant_ * y;
    return {center_.x + x * std::cos(angle_) - y * std::sin(angle_),
            center_.y + x * std::sin(angle_) + y * std::cos(angle_)};
  }

 private:
  double angle_;  // radians
  double slant_;
  double width_;  // pixels
  double height_;
  Point center_;
  Point wave_;
  Point wave_start_;
};

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double squared = dx * dx + dy * dy;
  const double t =
      squared == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / squared, 0.0, 1.0);
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

// The first and last pixel that the ink between two coordinates can reach.
std::pair<int, int> reach(double a, double b, double radius) {
  const auto first = static_cast<int>(std::floor(std::min(a, b) - radius));
  const auto last = static_cast<int>(std::ceil(std::max(a, b) + radius));
  return {std::max(first, 0), std::min(last, static_cast<int>(kSide) - 1)};
}

void draw_segment(Canvas& canvas, Point a, Point b, double pen_radius) {
  const auto [left, right] = reach(a.x, b.x, pen_radius + 1);
  const auto [top, bottom] = reach(a.y, b.y, pen_radius + 1);
  for (int y = top; y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const double distance =
          distance_to_segment({static_cast<double>(x), static_cast<double>(y)}, a, b);
      double& ink = canvas[static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(x)];
      ink = std::max(ink, std::clamp(pen_radius + .5 - distance, 0.0, 1.0));
    }
  }
}

void draw_glyph(Canvas& canvas, const Glyph& glyph, Random& random) {
  const Hand hand(random);
  const double pen_radius = random.uniform(.5, 1.5);
  for (const Stroke& stroke : glyph) {
    for (std::size_t i = 1; i < stroke.size(); ++i) {
      draw_segment(canvas, hand.to_pixels(stroke[i - 1]), hand.to_pixels(stroke[i]), pen_radius);
    }
  }
}

// Turns ink into pixels: one darkness per digit, with noise, and specks of dust on the paper.
void develop(const Canvas& canvas, Random& random, std::uint8_t* pixels) {
  const double darkness = random.uniform(150, 255);
  const double noise = random.uniform(5, 25);
  for (std::size_t i = 0; i < kPixels; ++i) {
    const bool paper = canvas[i] == 0 && random.uniform(0, 1) < .9;
    const double value = paper ? 0 : canvas[i] * darkness + noise * random.normal();
    pixels[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
}

}  // namespace

LabelledImages draw_digits(std::uint32_t count, std::uint64_t seed) {
  const std::array<Glyph, 10> glyphs = make_glyphs();
  LabelledImages drawn{{{count, kSide, kSide}, {}}, {{count}, {}}};
  drawn.images.bytes.resize(count * kPixels);
  drawn.labels.bytes.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    Random random(Random(seed).bits() ^ Random(i).bits());
    const auto digit = static_cast<std::uint8_t>(random.bits() % glyphs.size());
    Canvas canvas{};
    draw_glyph(canvas, glyphs[digit], random);
    develop(canvas, random, &drawn.images.bytes[i * kPixels]);
    drawn.labels.bytes[i] = digit;
  }
  return drawn;
}

}  // namespace mnist
