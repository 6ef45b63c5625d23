#include "analyzer/recording.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "analyzer/serve/lengths.h"

namespace stepscope {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<StepSpan> parse_step_window(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first) return std::nullopt;
  return StepSpan{*first, *last};
}

std::optional<bool> parse_switch(const std::optional<std::string>& text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return std::nullopt;
}

void take_lengths(RecordedRun& recording) {
  const auto is_mark = [&](const Phase& phase) {
    return phase.kind == PhaseKind::kScope && is_lengths_mark(recording.text(phase.name));
  };
  std::copy_if(recording.phases.begin(), recording.phases.end(),
               std::back_inserter(recording.lengths), is_mark);
  if (!recording.lengths.empty()) std::erase_if(recording.phases, is_mark);
}

std::vector<Phase> phases_of(const RecordedRun& recording, ThreadId thread) {
  const auto& phases = recording.phases;
  const auto first = std::partition_point(phases.begin(), phases.end(),
                                          [thread](const Phase& p) { return p.thread < thread; });
  const auto last = std::partition_point(first, phases.end(),
                                         [thread](const Phase& p) { return p.thread == thread; });
  return {first, last};
}

}  // namespace stepscope
