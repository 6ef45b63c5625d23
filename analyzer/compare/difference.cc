#include "analyzer/compare/difference.h"

#include <algorithm>
#include <cmath>

#include "analyzer/compare/student_t.h"

namespace stepscope {
namespace {

double square(double value) { return value * value; }

// The standard errors of both figures, each at least as large as the variance of all steps implies.
struct Errors {
  double a = 0;
  double b = 0;

  explicit Errors(const Difference& d) {
    const double steps = d.a.steps + d.b.steps;
    const double pooled =
        steps <= 0 ? 0 : (square(d.a.error * d.a.steps) + square(d.b.error * d.b.steps)) / steps;
    a = at_least(d.a, pooled);
    b = at_least(d.b, pooled);
  }

  // The standard error of b - factor × a.
  [[nodiscard]] double of_difference(double factor = 1) const { return std::hypot(b, factor * a); }

 private:
  static double at_least(const Estimate& estimate, double variance) {
    constexpr double kRounding = 1e-12;
    const double pooled = estimate.steps > 0 ? std::sqrt(variance / estimate.steps) : 0;
    return std::max({estimate.error, pooled, kRounding * std::abs(estimate.value)});
  }
};

// The degrees of freedom (Welch 1947).
double freedom_of(const Difference& d, const Errors& errors) {
  const double a = square(errors.a), b = square(errors.b);
  if (a + b <= 0) return 1;
  return square(a + b) / (square(a) / d.a.freedom() + square(b) / d.b.freedom());
}

// The half width of the interval, in standard errors.
double reach_of(const Difference& d, const Errors& errors) {
  return student_quantile(d.level, freedom_of(d, errors));
}

void set_level(Difference& d, double level) {
  d.level = level;
  d.interval = d.is_known() ? interval_against(d, 1) : Interval{d.delta(), d.delta()};
  d.changed = d.is_known() && (d.interval.low > 0 || d.interval.high < 0);
}

}  // namespace

Difference difference_of(const Estimate& a, const Estimate& b, double level) {
  Difference d;
  d.a = a;
  d.b = b;
  if (d.is_known()) {
    const Errors errors(d);
    const double error = errors.of_difference();
    d.p = error > 0 ? student_p(d.delta() / error, freedom_of(d, errors)) : d.delta() == 0 ? 1 : 0;
  }
  set_level(d, level);
  return d;
}

Interval interval_against(const Difference& d, double factor) {
  const Errors errors(d);
  const double error = errors.of_difference(factor);
  const double middle = d.b.value - factor * d.a.value;
  const double reach = error > 0 ? reach_of(d, errors) * error : 0;
  return {middle - reach, middle + reach};
}

// The ratios r for which b - r × a cannot be distinguished from 0:
// (b - r a)² <= t² (error_b² + r² error_a²).
std::optional<Relative> relative_of(const Difference& d) {
  if (!d.is_known() || d.a.value <= 0) return std::nullopt;
  const double ratio = d.b.value / d.a.value;
  const Errors errors(d);
  if (errors.of_difference() <= 0) return Relative{ratio - 1, {ratio - 1, ratio - 1}};
  const double t = reach_of(d, errors);
  const double quadratic = square(d.a.value) - square(t * errors.a);
  if (quadratic <= 0) return std::nullopt;
  const double middle = d.a.value * d.b.value / quadratic;
  const double constant = (square(d.b.value) - square(t * errors.b)) / quadratic;
  const double reach = std::sqrt(std::max(square(middle) - constant, 0.0));
  return Relative{ratio - 1, {std::max(middle - reach, 0.0) - 1, middle + reach - 1}};
}

void control_false_discoveries(std::span<Difference* const> family) {
  std::vector<double> p;
  for (const Difference* d : family) p.push_back(d->p);
  std::sort(p.begin(), p.end());
  const double members = static_cast<double>(std::max<std::size_t>(p.size(), 1));
  double found = 1;  // with none found, an interval as for one
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double rank = static_cast<double>(i + 1);
    if (p[i] <= (1 - kLevel) * rank / members) found = rank;
  }
  for (Difference* d : family) set_level(*d, 1 - (1 - kLevel) * found / members);
}

}  // namespace stepscope
