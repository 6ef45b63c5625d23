#include "present/population_words.h"

#include <cmath>

#include "analyzer/words.h"

namespace stepscope {
namespace {

std::string which_text(const Population& kind, double usual_ns, const char* unit) {
  if (kind.period > 0) {
    const std::string first = std::to_string(kind.first);
    const std::string second = std::to_string(kind.first + kind.period);
    return "every " + ordinal(static_cast<std::size_t>(kind.period)) + " " + unit + " (" + first +
           ", " + second + ", …)";
  }
  return in_units(static_cast<double>(kind.mean_ns) < usual_ns ? "fast steps" : "slow steps", unit);
}

std::string signed_time(double ns) { return (ns < 0 ? "−" : "+") + time_text(std::abs(ns)); }

}  // namespace

std::string cause_text(const Cause& cause) {
  return cause.label.empty() ? std::string(category_name(cause.category)) : in_quotes(cause.label);
}

std::string population_label(const LoopReport& loop, std::size_t index) {
  const Population& kind = loop.populations[index];
  if (index == 0)
    return loop.populations.size() == 1 ? "all" : in_units("usual steps", loop.unit());
  const auto usual_ns = static_cast<double>(loop.populations.front().mean_ns);
  const bool faster = static_cast<double>(kind.mean_ns) < usual_ns;
  return which_text(kind, usual_ns, loop.unit()) + ": " + (faster ? "−" : "+") +
         time_text(std::abs(kind.extra_ns)) + " in " + cause_text(kind.cause);
}

std::string drift_sentence(const Drift& drift, const char* unit) {
  const Trend& t = drift.trend;
  const std::string word = t.change > 0 ? "slower" : "faster";
  const std::string size = signed_time(t.change) + " (95 % CI " + signed_time(t.change_ci.low) +
                           " to " + signed_time(t.change_ci.high) + ")";
  const std::string where = ", most of it in " + cause_text(drift.cause) + ".";
  if (t.jump_at > 0) {
    return in_units("From step ", unit) + std::to_string(t.jump_at) +
           in_units(" on, the steps are ", unit) + word + ": " + size + where;
  }
  return in_units("The steps get ", unit) + word + ": " + size + " over the run" + where;
}

}  // namespace stepscope
