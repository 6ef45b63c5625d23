#include "present/report_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/lines/own_code.h"
#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/report_words.h"

namespace stepscope {
namespace {

constexpr std::size_t kMax = 3;
constexpr double kMin = 0.02;  // of the block's time: smaller lines are not listed
constexpr std::size_t kShareWidth = 22;
constexpr std::size_t kTimeWidth = 12;

// What a block of lines is about: a category of the loop's time, or all of the step.
struct Topic {
  std::vector<LineShare> lines;
  std::string title;
  double ns = 0;  // per step
  std::int64_t samples = 0;
};

std::vector<LineShare> lines_of(const LoopReport& loop, LinePlace place,
                                std::string_view category) {
  std::vector<LineShare> lines;
  std::copy_if(loop.lines.begin(), loop.lines.end(), std::back_inserter(lines),
               [&](const LineShare& line) {
                 return line.place == place && (category.empty() || line.category == category);
               });
  return lines;
}

// The lines of the loop's thread that have enough samples: few samples of a category may stand for
// most of the step.
std::vector<LineShare> certain_lines(const LoopReport& loop) {
  std::vector<LineShare> lines;
  std::set<std::string> categories;
  for (const LineShare& line : lines_of(loop, LinePlace::kLoop, "")) {
    const bool is_first = categories.insert(line.category).second;
    const std::int64_t samples = loop.line_use.samples(LinePlace::kLoop, line.category);
    const bool stands_out = samples >= LineUse::kEnough || (is_first && line.ci_low > 0);
    if (stands_out && samples >= LineUse::kFewest) lines.push_back(line);
  }
  return lines;
}

Topic whole_step(const LoopReport& loop) {
  Topic topic;
  topic.lines = certain_lines(loop);
  topic.title = in_units("of the step", loop.unit());
  topic.ns = static_cast<double>(loop.wall.mean);
  topic.samples = loop.line_use.loop_samples;
  std::ranges::stable_sort(topic.lines,
                           [](const LineShare& a, const LineShare& b) { return a.step > b.step; });
  for (LineShare& line : topic.lines) {
    const double scale = topic.ns > 0 && line.share > 0
                             ? static_cast<double>(to_ns(line.step)) / topic.ns / line.share
                             : 0;
    line.share *= scale;
    line.ci_low *= scale;
    line.ci_high *= scale;
  }
  return topic;
}

// The threads without a core may be the ones that make the input.
bool is_about_input(const LoopReport& loop) {
  constexpr double kMaxOfStep = 0.5;
  return loop.verdict.kind == "input-bound" ||
         (loop.verdict.kind == "cpu-starved" &&
          loop.phases.input > kMaxOfStep * static_cast<double>(loop.wall.mean));
}

// In a loop without a backward pass, most of the time between the ops is in the forward pass.
bool is_about_time_between_phases(const LoopReport& loop) {
  constexpr double kMaxOfHost = 0.5;
  const double host_ns =
      loop.shares[static_cast<std::size_t>(Category::kHost)] * static_cast<double>(loop.wall.mean);
  return loop.verdict.kind == "host-bound" && loop.phases.other > kMaxOfHost * host_ns;
}

// If the loop waits for input, the lines that make the batches; else the lines that took the step.
Topic topic_of(const LoopReport& loop) {
  Topic topic;
  if (is_about_input(loop)) {
    topic.ns = loop.phases.input;
    topic.lines = lines_of(loop, LinePlace::kWorker, "input");
    topic.title = "of the input wait, in the workers";
    topic.samples = loop.line_use.worker_samples;
    if (!topic.lines.empty()) return topic;
    topic.lines = lines_of(loop, LinePlace::kLoop, "input");
    topic.title = "of the input wait";
    topic.samples = loop.line_use.samples(LinePlace::kLoop, "input");
    return topic;
  }
  if (is_about_time_between_phases(loop)) {
    topic.lines = lines_of(loop, LinePlace::kLoop, "host");
    topic.title = in_units("of the time between the phases of a step", loop.unit());
    topic.ns = loop.phases.other;
    topic.samples = loop.line_use.samples(LinePlace::kLoop, "host");
    if (!topic.lines.empty()) return topic;
  }
  return whole_step(loop);
}

// Native code of the program that was compiled without debug information.
bool lacks_debug_information(const LineShare& line) {
  return line.line == 0 && line.function.find("+0x") != std::string::npos &&
         !is_library_file(line.file);
}

// "64.1 % (61–67)"
std::string share_text(const LineShare& line) {
  const auto bound = [](double share) { return std::to_string(std::lround(share * 100)); };
  return percent_text(line.share) + " (" + bound(line.ci_low) + "–" + bound(line.ci_high) + ")";
}

// The end of `text` in at most `width` columns.
std::string ending(std::string_view text, std::size_t width) {
  const auto is_inside_character = [&] { return (text.front() & 0xc0) == 0x80; };
  while (!text.empty() && width_of(text) + 1 > width) {
    do text.remove_prefix(1);
    while (!text.empty() && is_inside_character());
  }
  return "…" + std::string(text);
}

// At most `width` characters. To fit, it drops the folders first, then the beginning of a long file
// name, then cuts the function's name; the line stays.
std::string place_text(const LineShare& line, const RunFacts& run, std::size_t width) {
  std::string text = printable(line_text(line, run));
  const std::string file = printable(display_file(line.file, run.working_folder));
  for (std::size_t slash = file.find('/'); width_of(text) > width && slash != std::string::npos;
       slash = file.find('/', slash + 1)) {
    text = "…" + printable(line_text(line, run)).substr(slash);
  }
  const std::string after = printable(line_text(line, run)).substr(file.size());
  if (width_of(text) > width && width_of(after) <= width / 2)
    return ending(file, width - width_of(after)) + after;
  return cut(text, width);
}

std::string more_text(const LineShare& line) {
  std::string text;
  if (!line.inside.empty()) text += "→ " + line.inside;
  if (!line.blocked.empty()) text += (text.empty() ? "" : ", ") + ("blocked in " + line.blocked);
  return text;
}

}  // namespace

std::string line_text(const LineShare& line, const RunFacts& run) {
  return display_file(line.file, run.working_folder) +
         (line.line > 0 ? ":" + std::to_string(line.line) : "") + " " + line.function;
}

std::string lines_block(const RunFacts& run, const LoopReport& loop, const Palette& palette,
                        std::size_t width) {
  if (loop.line_use.withheld) {
    return "\n  " +
           palette.dim("no lines of code: Stepscope did not get a core in time to sample them") +
           "\n";
  }
  const Topic topic = topic_of(loop);
  if (topic.lines.empty() && !run.sampling.note.empty())
    return "\n  " +
           palette.dim(cut("no lines of code: " + printable(run.sampling.note), width - 2)) + "\n";
  if (topic.lines.empty()) return "";
  const bool few = topic.samples < LineUse::kEnough;
  const bool stands_out = !few || topic.lines.front().ci_low > 0;
  if (topic.samples < LineUse::kFewest || !stands_out) {
    return "\n  " +
           palette.dim("no lines of code: only " + count_text(topic.samples) +
                       (topic.samples == 1 ? " stack sample " : " stack samples ") + topic.title) +
           "\n";
  }
  const std::string title =
      "  the lines of your code" +
      (few ? " (" + std::to_string(topic.samples) + " samples: only the top line)" : "");
  std::string text = "\n" + palette.bold(title) + "   " + palette.dim(topic.title) + "\n";
  const std::size_t place_width = width - 6 - kShareWidth - kTimeWidth;
  std::size_t shown = 0;
  bool no_debug_information = false;
  for (const LineShare& line : topic.lines) {
    if (shown == (few ? 1 : kMax) || line.share < kMin) break;
    if (line.samples < LineUse::kFewest) continue;
    ++shown;
    no_debug_information = no_debug_information || lacks_debug_information(line);
    const std::string place = place_text(line, run, place_width - 1);
    text += "    " + pad_right(place, place_width) + pad_left(share_text(line), kShareWidth) +
            pad_left(time_text(static_cast<double>(to_ns(line.step))), kTimeWidth) + "\n";
    const std::string more = more_text(line);
    if (!more.empty()) text += "      " + palette.dim(cut(more, width - 6)) + "\n";
  }
  if (no_debug_information) {
    text +=
        "    " +
        palette.dim("only functions are known: compile with -g (or -g1) for the lines of code") +
        "\n";
  }
  return shown > 0 ? text : "";
}

}  // namespace stepscope
