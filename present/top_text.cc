#include "present/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analyzer/median.h"
#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/death_words.h"
#include "present/losses.h"
#include "present/report_lines.h"
#include "present/report_words.h"
#include "present/terminal_text.h"
#include "present/trend_line.h"
#include "present/verdict_words.h"

namespace stepscope {
namespace {

constexpr std::size_t kLabel = 12;
constexpr std::size_t kMinWidth = 40;
constexpr double kTold = 0.001;  // of the step: smaller categories have no line

enum class Tone : std::uint8_t { kPlain, kBold, kRed, kYellow, kGreen };

// Lines, cut to the width of the terminal. Colour is added last, since it has no width.
class Lines {
 public:
  Lines(std::size_t width, bool color) : width_(width), palette_{color} {}
  void add(const std::string& text) { lines_.push_back(cut(text, width_)); }
  void add(const std::string& text, Tone tone) {
    const std::string line = cut(text, width_);
    switch (tone) {
      case Tone::kBold:
        return lines_.push_back(palette_.bold(line));
      case Tone::kRed:
        return lines_.push_back(palette_.red(line));
      case Tone::kYellow:
        return lines_.push_back(palette_.yellow(line));
      case Tone::kGreen:
        return lines_.push_back(palette_.green(line));
      case Tone::kPlain:
        return lines_.push_back(line);
    }
  }
  // Further lines are indented.
  void add_wrapped(const std::string& label, const std::string& text) {
    std::string front = pad_right(label, kLabel);
    for (const std::string& line : wrap(text, width_ - kLabel)) {
      lines_.push_back(front + line);
      front.assign(kLabel, ' ');
    }
  }
  void gap() {
    if (!lines_.empty() && !lines_.back().empty()) lines_.emplace_back();
  }
  [[nodiscard]] std::size_t width() const { return width_; }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::size_t width_;
  Palette palette_;
  std::vector<std::string> lines_;
};

std::string clock_text(std::int64_t ns) {
  const std::int64_t seconds = ns / 1'000'000'000;
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string state_text(const LiveFrame& frame) {
  if (frame.being_recorded && !frame.window.run.stopped_because.empty())
    return "recording has stopped";
  if (frame.being_recorded) return "recording";
  return frame.finished ? "ended" : "the recorder is gone";
}

std::string program_name(const LiveFrame& frame) {
  if (!frame.window.run.program.empty()) return frame.window.run.program;
  for (const ProcessReport& process : frame.window.processes) {
    if (frame.window.loops.empty() || process.id == frame.window.loops.front().process)
      return process.name;
  }
  return "a run";
}

void add_header(const LiveFrame& frame, Lines& lines) {
  std::string text =
      program_name(frame) + kDot + state_text(frame) + kDot + clock_text(frame.at_ns);
  if (!frame.loops.empty() && frame.loops.front().steps)
    text += kDot + in_units("step ", frame.window.loops.front().unit()) +
            count_text(*frame.loops.front().steps);
  text += kDot + count_text(frame.op_count) + " ops" + kDot +
          losses_text(frame.window.losses, frame.window.run.is_incomplete());
  const Tone tone = !nothing_lost(frame.window.losses) ? Tone::kYellow : Tone::kBold;
  lines.add(text, tone);
  if (!frame.window.run.stopped_because.empty()) {
    for (const std::string& line : wrap(gap_sentence(frame.window.run), lines.width()))
      lines.add(line, Tone::kRed);
  }
  for (const std::string& death : death_sentences(frame.window)) {
    for (const std::string& line : wrap(death, lines.width())) lines.add(line, Tone::kRed);
  }
}

void add_verdict(const LoopReport& loop, Lines& lines) {
  const LoopVerdict& verdict = loop.verdict;
  if (verdict.kind == kNoVerdict) {
    lines.gap();
    lines.add(in_units("one step so far", loop.unit()), Tone::kBold);
    return;
  }
  const std::string title = verdict_title(verdict);
  const std::string steps = loop.analysed.size() == 1
                                ? in_units("1 step", loop.unit())
                                : "the latest " +
                                      count_text(static_cast<std::int64_t>(loop.analysed.size())) +
                                      in_units(" steps", loop.unit());
  const Tone tone = verdict.degree == "highly"        ? Tone::kRed
                    : verdict.degree == "moderately"  ? Tone::kYellow
                    : verdict.kind == "compute-bound" ? Tone::kGreen
                                                      : Tone::kBold;
  lines.gap();
  lines.add(title + "   " + percent_text(verdict.share) + " " + verdict_clause(loop) + "   (" +
                steps + ")",
            tone);
}

double median_ns(std::span<const LiveStep> steps) {
  std::vector<double> times;
  for (const LiveStep& step : steps) times.push_back(static_cast<double>(to_ns(step.dur)));
  return upper_median(times);
}

// "+3.2 %": the latest quarter of the kept steps against those before. By medians: one slow step
// among few is no trend.
std::string change_text(std::span<const LiveStep> history) {
  constexpr std::size_t kFewest = 16;
  if (history.size() < kFewest) return "";
  const std::size_t before = history.size() - history.size() / 4;
  const double early = median_ns(history.first(before));
  const double late = median_ns(history.subspan(before));
  return fmt::format("{:+.1f} % lately", (late / std::max(early, 1.0) - 1) * 100);
}

std::string rate_text(double step_ns, const char* unit) {
  const double rate = 1e9 / std::max(step_ns, 1.0);
  if (rate < 1) return fmt::format("{:.1f} {}s/min", rate * 60, unit);
  return fmt::format("{:.{}f} {}s/s", rate, rate < 10 ? 1 : 0, unit);
}

void add_step_time(const LoopReport& loop, const LiveLoop& live, Lines& lines) {
  const double mean = static_cast<double>(loop.wall.mean);
  std::string text = time_text(mean) + kDot + rate_text(mean, loop.unit()) + kDot + "p50 " +
                     time_text_like(static_cast<double>(loop.wall.p50), mean) + kDot + "p90 " +
                     time_text_like(static_cast<double>(loop.wall.p90), mean);
  if (!live.history.empty())
    text += kDot + std::string("last ") +
            time_text(static_cast<double>(to_ns(live.history.back().dur)));
  const std::string change = change_text(without_first_step(live));
  if (!change.empty()) text += kDot + change;
  lines.gap();
  lines.add(pad_right(in_units("step time", loop.unit()), kLabel) + text);
  const auto points = trend_points(without_first_step(live), lines.width() - kLabel - 22);
  if (points.size() < 2) return;
  std::int64_t most = 0;
  for (const TrendPoint& point : points) most = std::max(most, point.mean_ns);
  const double covered =
      static_cast<double>(to_ns(live.history.back().end - live.history.front().end));
  lines.add(pad_right("  " + time_text(covered), kLabel) + sparkline(points) + "  to " +
            time_text(static_cast<double>(most)));
}

void add_shares(const LoopReport& loop, Lines& lines) {
  const std::size_t bar_width = std::min<std::size_t>(50, lines.width() - kLabel - 24);
  std::vector<std::pair<double, int>> order;
  for (int i = 0; i < kCategoryCount; ++i) {
    const double share = loop.shares[static_cast<std::size_t>(i)];
    if (share >= kTold) order.emplace_back(-share, i);
  }
  std::sort(order.begin(), order.end());
  lines.gap();
  for (const auto& [minus_share, category] : order) {
    const std::string text =
        pad_right("  " + std::string(category_name(static_cast<Category>(category))), kLabel + 4) +
        pad_left(time_text(-minus_share * static_cast<double>(loop.wall.mean)), 8) +
        pad_left(percent_text(-minus_share), 9) + "  " + bar(-minus_share, bar_width);
    const bool stall = static_cast<Category>(category) == Category::kInput && -minus_share >= 0.05;
    lines.add(text, stall ? Tone::kRed : Tone::kPlain);
  }
}

void add_input(const LoopReport& loop, Lines& lines) {
  if (loop.input.waits == 0) return;
  const double steps = static_cast<double>(std::max<std::size_t>(loop.analysed.size(), 1));
  double last = 0;
  for (const StepTime& time : loop.steps[loop.analysed.back()].times) {
    if (time.category == Category::kInput) last += static_cast<double>(to_ns(time.exposed));
  }
  std::string text = time_text(static_cast<double>(loop.input.wait_ns) / steps) +
                     in_units(" a step", loop.unit()) + kDot + "last " + time_text(last);
  if (loop.input.inferred) {
    text += kDot + std::string("inferred");
  } else {
    text += kDot + std::string("busy ") + percent_text(loop.input.busy_share()) +
            (loop.input.busy_share() >= 0.5 ? " (the loop's thread prepares batches)"
                                            : " (it is blocked)");
  }
  if (!loop.input.loader.empty()) text += kDot + loop.input.loader;
  lines.gap();
  lines.add(pad_right("input wait", kLabel) + text);
}

// The lines of code of the latest steps, and the line that the program is in now.
void add_code(const LiveFrame& frame, Lines& lines) {
  const LiveLoop& live = frame.loops.front();
  constexpr std::size_t kNarrowest = 72;  // cut below that
  const std::string block = lines_block(frame.window.run, frame.window.loops.front(), Palette{},
                                        std::max(lines.width(), kNarrowest));
  if (!block.empty()) lines.gap();
  std::size_t begin = block.find_first_not_of('\n');
  while (begin != std::string::npos && begin < block.size()) {
    const std::size_t end = block.find('\n', begin);
    lines.add(block.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!live.now.empty()) lines.gap();
  for (const LastLine& line : live.now) {
    const bool of_loop = &line == &live.now.front();
    lines.add(pad_right(of_loop ? "now" : "  worker", kLabel) + printable(line.place) +
              (line.inside.empty() ? "" : " → " + printable(line.inside)) +
              (line.blocked.empty() ? "" : ", blocked in " + printable(line.blocked)));
  }
}

void add_memory(const LiveFrame& frame, Lines& lines) {
  constexpr std::size_t kMax = 4;
  std::string label = "memory";
  const auto part = [](const std::optional<std::int64_t>& bytes, const char* what) {
    return bytes ? kDot + bytes_text(static_cast<double>(*bytes)) + what : std::string();
  };
  for (std::size_t i = 0; i < std::min(kMax, frame.memory.size()); ++i) {
    const LiveMemory& memory = frame.memory[i];
    lines.add(pad_right(label, kLabel) + memory.process + " " + std::to_string(memory.pid) +
              part(memory.rss_bytes, " held") + part(memory.tensor_bytes, " in tensors") +
              part(memory.device_allocated_bytes, " on devices") +
              part(memory.device_reserved_bytes, " reserved there"));
    label.clear();
  }
  if (frame.memory.size() > kMax)
    lines.add(std::string(kLabel, ' ') + "and " + std::to_string(frame.memory.size() - kMax) +
              " more processes");
  if (frame.memory_available_bytes && !frame.memory.empty())
    lines.add(pad_right("", kLabel) + "machine" + part(frame.memory_available_bytes, " available"));
}

void add_other_loops(const LiveFrame& frame, Lines& lines) {
  constexpr std::size_t kMax = 8;
  const auto& loops = frame.window.loops;
  if (loops.size() < 2) return;
  lines.gap();
  for (std::size_t i = 0; i < std::min(kMax, loops.size()); ++i) {
    const LoopReport& loop = loops[i];
    std::string who =
        loop.rank >= 0 ? "rank " + std::to_string(loop.rank) : "pid " + std::to_string(loop.pid);
    if (loop.device != DeviceId::kNone) who += " cuda:" + std::to_string(loop.device_number);
    lines.add("  " + pad_right(cut(who, 20), 22) +
              pad_left(time_text(static_cast<double>(loop.wall.mean)), 9) +
              in_units(" a step", loop.unit()) + kDot +
              (loop.verdict.degree.empty() ? "" : loop.verdict.degree + " ") + loop.verdict.kind +
              (loop.verdict.kind == kNoVerdict ? "" : " " + percent_text(loop.verdict.share)));
  }
  if (loops.size() > kMax)
    lines.add("  and " + std::to_string(loops.size() - kMax) + " more loops");
}

void add_ops(const LoopReport& loop, std::size_t most, Lines& lines) {
  if (loop.ops.empty() || most == 0) return;
  const double steps = loop.op_step_count();
  const std::size_t name_width = std::min<std::size_t>(lines.width() - 34, 50);
  lines.gap();
  lines.add(pad_right("  top ops by self time", name_width + 4) + pad_right("phase", 12) +
            pad_left(in_units("a step", loop.unit()), 9) +
            pad_left(in_units("of step", loop.unit()), 9));
  for (std::size_t i = 0; i < std::min(most, loop.ops.size()); ++i) {
    const OpRow& op = loop.ops[i];
    const double ns = static_cast<double>(op.self_ns) / steps;
    lines.add("    " + pad_right(cut(op.name, name_width - 1), name_width) +
              pad_right(op.phase == "none" ? "outside" : op.phase, 12) +
              pad_left(time_text(ns), 9) +
              pad_left(percent_text(ns / std::max(1.0, static_cast<double>(loop.wall.mean))), 9));
  }
}

}  // namespace

std::vector<std::string> top_lines(const LiveFrame& frame, const TopOptions& options) {
  Lines lines(std::max(options.width, kMinWidth), options.color);
  add_header(frame, lines);
  if (frame.window.loops.empty()) {
    lines.gap();
    lines.add_wrapped(frame.being_recorded ? "no step yet" : "no step",
                      no_steps_text(frame.window));
    add_memory(frame, lines);
  } else {
    const LoopReport& loop = frame.window.loops.front();
    add_verdict(loop, lines);
    add_step_time(loop, frame.loops.front(), lines);
    add_shares(loop, lines);
    add_input(loop, lines);
    add_code(frame, lines);
    add_memory(frame, lines);
    add_other_loops(frame, lines);
    add_ops(loop, options.top_ops, lines);
  }
  std::vector<std::string> all = lines.take();
  if (options.height > 0 && all.size() > options.height) all.resize(options.height);
  return all;
}

}  // namespace stepscope
