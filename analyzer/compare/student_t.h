// Student's t distribution, for a mean whose error is itself an estimate; and Fisher's F
// distribution, for whether one such error is larger than another.
//
// Thread safety: pure functions.
#pragma once

namespace stepscope {

// The probability of |T| >= |t| with `df` > 0 degrees of freedom (fractions allowed, as in Welch's
// test).
double student_p(double t, double df);

// The t with P(|T| <= t) = level, 0 < level < 1, to a relative 1e-9.
double student_quantile(double level, double df);

// The probability of F >= f >= 0 with `above` and `below` > 0 degrees of freedom.
double fisher_p(double f, double above, double below);

}  // namespace stepscope
