#include "present/report_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "analyzer/words.h"
#include "present/advice/advice_words.h"
#include "present/population_words.h"
#include "present/replay_words.h"
#include "present/report_words.h"
#include "present/verdict_words.h"

namespace stepscope {
namespace {

// "highly input-bound"; "" if the whole run has a verdict of that kind.
std::string other_verdict(const LoopReport& loop, const Bottleneck& bottleneck) {
  if (bottleneck.kind == loop.verdict.kind) return "";
  return (bottleneck.degree.empty() ? "" : bottleneck.degree + " ") + bottleneck.kind;
}

std::string reason_lines(const LoopReport& loop) {
  std::string text;
  for (const std::string& line : wrap(join(verdict_reasons(loop), " "), kPageWidth - 2))
    text += "  " + line + "\n";
  return text;
}

}  // namespace

std::string verdict_lines(const LoopReport& loop, const Palette& palette) {
  const LoopVerdict& verdict = loop.verdict;
  const std::string title = verdict_title(verdict);
  const std::string painted = verdict.degree == "highly"        ? palette.red(title)
                              : verdict.degree == "moderately"  ? palette.yellow(title)
                              : verdict.kind == "compute-bound" ? palette.green(title)
                                                                : palette.bold(title);
  if (verdict.kind == kNoVerdict)
    return "  " + palette.bold("NO VERDICT") + "\n" + reason_lines(loop);
  const std::string interval =
      fmt::format("(95 % CI {:.1f}–{:.1f}, confidence {})", verdict.ci_low * 100,
                  verdict.ci_high * 100, verdict.confidence);
  const std::string share = percent_text(verdict.share) + " " + verdict_clause(loop);
  std::string text = "  " + painted + "   " + share;
  const bool fits = width_of(title) + width_of(share) + width_of(interval) + 8 <= kPageWidth;
  text += (fits ? "   " : "\n  ") + interval + "\n" + reason_lines(loop);
  if (const auto doubts = verdict_doubts(loop); !doubts.empty()) {
    const std::string limits = "Confidence is limited: " + join(doubts, ", ") + ".";
    for (const std::string& line : wrap(limits, kPageWidth - 2))
      text += "  " + palette.dim(line) + "\n";
  }
  return text;
}

std::string population_table(const LoopReport& loop) {
  if (loop.populations.size() < 2) return "";
  std::string text = unit_text("\n  kinds of step\n", loop);
  for (std::size_t i = 0; i < loop.populations.size(); ++i) {
    const Population& kind = loop.populations[i];
    const std::string line = pad_left(count_text(kind.steps), 8) + " ×" +
                             pad_left(time_text(static_cast<double>(kind.mean_ns)), 9) +
                             pad_left(percent_text(kind.share), 9) + " of all time   ";
    const std::string verdict = other_verdict(loop, kind.bottleneck);
    text += "  " + line + cut(population_label(loop, i), kPageWidth - 2 - width_of(line)) + "\n";
    if (!verdict.empty()) text += "  " + std::string(width_of(line), ' ') + verdict + "\n";
  }
  return text;
}

std::string advice_table(const LoopReport& loop) {
  if (loop.replay.withheld != Withheld::kNothing) {
    std::string text = "\n";
    for (const std::string& line :
         wrap("No predictions: " + withheld_text(loop.replay) + ".", kPageWidth - 2))
      text += "  " + line + "\n";
    return text;
  }
  if (loop.verdict.advice.empty()) return "";
  constexpr std::size_t kBecause = 58;
  std::string text = "\n  " + pad_right("what would help", 36) +
                     pad_right(unit_text("step would take", loop), 20) + "because\n";
  for (const Advice& advice : make_advice(loop)) {
    const double predicted = static_cast<double>(advice.predicted_step_ns);
    const double times = static_cast<double>(loop.wall.mean) / std::max(predicted, 1.0);
    const int digits = times < 1.095 ? 2 : 1;  // 1.0 would say that nothing is gained
    const std::string factor = fmt::format("  ({:.{}f} ×)", times, digits);
    const std::string gain = advice.saves_ns > 0 ? time_text(predicted) + factor : "not predicted";
    const std::string likely =
        advice.likely ? "likely " + time_range_text(static_cast<double>(advice.likely->low_ns),
                                                    static_cast<double>(advice.likely->high_ns))
                      : "";
    std::vector<std::string> because = wrap(advice.why, kPageWidth - kBecause);
    because.resize(std::max<std::size_t>(because.size(), likely.empty() ? 1 : 2));
    for (std::size_t i = 0; i < because.size(); ++i) {
      const std::string title = i == 0 ? cut(advice.title, 33) : "";
      const std::string step = i == 0 ? gain : i == 1 ? likely : "";
      std::string line = "    " + pad_right(title, 34) + pad_right(step, 20) + because[i];
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace stepscope
