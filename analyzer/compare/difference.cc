#include "analyzer/compare/difference.h"

#include <algorithm>
#include <cmath>

#include "analyzer/compare/student_t.h"

namespace stepscope {
namespace {

double square(double value) { return value * value; }

double error_of(const Difference& d) { return std::hypot(d.a.error, d.b.error); }

// Welch 1947.
double freedom_of(const Difference& d) {
  const double a = square(d.a.error), b = square(d.b.error);
  if (a + b <= 0) return 1;
  return square(a + b) / (square(a) / d.a.freedom() + square(b) / d.b.freedom());
}

// How many standard errors the interval reaches to either side.
double reach_of(const Difference& d) { return student_quantile(d.level, freedom_of(d)); }

void set_level(Difference& d, double level) {
  d.level = level;
  const double reach = d.can_be_told() && error_of(d) > 0 ? reach_of(d) * error_of(d) : 0;
  d.interval = {d.delta() - reach, d.delta() + reach};
  d.changed = d.can_be_told() && (d.interval.low > 0 || d.interval.high < 0);
}

}  // namespace

Difference difference_of(const Estimate& a, const Estimate& b, double level) {
  Difference d;
  d.a = a;
  d.b = b;
  if (d.can_be_told()) {
    d.p = error_of(d) > 0 ? student_p(d.delta() / error_of(d), freedom_of(d))
                          : (d.delta() == 0 ? 1 : 0);
  }
  set_level(d, level);
  return d;
}

// The ratios r for which b - r × a is not told from 0: (b - r a)² <= t² (error_b² + r² error_a²).
std::optional<Relative> relative_of(const Difference& d) {
  if (!d.can_be_told() || d.a.value <= 0) return std::nullopt;
  const double ratio = d.b.value / d.a.value;
  if (error_of(d) <= 0) return Relative{ratio - 1, {ratio - 1, ratio - 1}};
  const double t = reach_of(d);
  const double quadratic = square(d.a.value) - square(t * d.a.error);
  if (quadratic <= 0) return std::nullopt;
  const double middle = d.a.value * d.b.value / quadratic;
  const double constant = (square(d.b.value) - square(t * d.b.error)) / quadratic;
  const double reach = std::sqrt(std::max(square(middle) - constant, 0.0));
  return Relative{ratio - 1, {std::max(middle - reach, 0.0) - 1, middle + reach - 1}};
}

void control_false_discoveries(std::span<Difference* const> family, std::size_t size) {
  std::vector<double> p;
  for (const Difference* d : family) p.push_back(d->p);
  std::sort(p.begin(), p.end());
  const double members = static_cast<double>(std::max({size, p.size(), std::size_t{1}}));
  double found = 1;  // with none found, an interval as for one
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double rank = static_cast<double>(i + 1);
    if (p[i] <= (1 - kLevel) * rank / members) found = rank;
  }
  for (Difference* d : family) set_level(*d, 1 - (1 - kLevel) * found / members);
}

}  // namespace stepscope
