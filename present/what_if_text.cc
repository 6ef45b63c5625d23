#include "present/what_if_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "analyzer/words.h"
#include "present/terminal_text.h"
#include "present/what_if_answer.h"

namespace stepscope {
namespace {

constexpr double kMinShown = 0.001;  // of a step: a category that changes by less is not listed

std::string signed_percent(double fraction) {
  // Adding 0 turns a rounded -0 into 0.
  return fmt::format("{:+.1f} %", std::round(fraction * 1000) / 10 + 0.0);
}

std::string row(const std::string& what, double ns, const std::string& rest) {
  return "  " + pad_right(what, 12) + pad_left(time_text(ns), 9) + "   " + rest + "\n";
}

std::string changed_categories(const WhatIfAnswer& answer) {
  if (!answer.thread_sets_time) return "";
  std::string text;
  for (std::size_t i = 0; i < answer.predicted.exposed.size(); ++i) {
    const double before = answer.baseline.exposed[i], after = answer.predicted.exposed[i];
    if (std::abs(after - before) < kMinShown * answer.baseline.step_ns) continue;
    text += "    " + pad_right(category_name(static_cast<Category>(i)), 14) +
            pad_left(time_text(before), 9) + "  →" + pad_left(time_text(after), 9) + "\n";
  }
  return text.empty() ? "" : "\n  where the loop thread spends its time\n" + text;
}

}  // namespace

std::string what_if_text(const WhatIfAnswer& answer) {
  const double measured = static_cast<double>(answer.loop.wall.mean);
  const Prediction& predicted = answer.predicted;
  const char* const unit = answer.loop.unit();
  const auto steps = [unit](std::int64_t count) {
    return count_text(count) + in_units(count == 1 ? " step" : " steps", unit);
  };
  std::string text =
      row("measured", measured, steps(static_cast<std::int64_t>(answer.loop.analysed.size())));
  if (answer.replayed) {
    text += row("replayed", answer.baseline.step_ns,
                signed_percent(answer.baseline.step_ns / measured - 1) + ", " +
                    steps(answer.loop.replay.steps) + " without any change");
  }
  text += row("predicted", predicted.step_ns,
              fmt::format("{:.2f} ×  (95 % CI {} – {})", measured / predicted.step_ns,
                          time_text(predicted.ci95.low), time_text(predicted.ci95.high)));
  text += changed_categories(answer);
  for (const WhatIfNote& note : answer.notes) {
    text += "\n";
    for (const std::string& line : wrap(what_if_note_text(note), 98)) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace stepscope
