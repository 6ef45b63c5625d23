#include "analyzer/compare/student_t.h"

#include <cmath>
#include <limits>

namespace stepscope {
namespace {

// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), evaluated
// from the front by Lentz's method. Converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMaxTerms = 10'000;
  const auto nonzero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / nonzero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonzero(1 + even * d);
    c = nonzero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonzero(1 + odd * d);
    c = nonzero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return result;
}

// The regularised incomplete beta function; `y` is 1 - x, passed separately because it may be tiny.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

}  // namespace

double student_p(double t, double df) {
  const double square = t * t;
  if (!std::isfinite(square)) return 0;
  return incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
}

double fisher_p(double f, double above, double below) {
  if (!std::isfinite(f)) return 0;
  const double whole = below + above * f;
  return incomplete_beta(below / 2, above / 2, below / whole, above * f / whole);
}

double student_quantile(double level, double df) {
  const double p = 1 - level;
  double low = 0, high = 1;
  while (student_p(high, df) > p && high < 1e300) high *= 2;
  while (high - low > 1e-10 * high) {
    const double middle = low + (high - low) / 2;
    (student_p(middle, df) > p ? low : high) = middle;
  }
  return high;
}

}  // namespace stepscope
