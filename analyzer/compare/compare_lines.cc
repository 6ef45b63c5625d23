#include "analyzer/compare/compare_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/lines/own_code.h"

namespace stepscope {
namespace {

constexpr double kZ = 1.96;             // of a 95 % interval
constexpr double kMinReported = 0.005;  // of a category: a line with less may not be in a report

using Place = std::pair<LinePlace, std::string>;        // and category
using Function = std::pair<std::string, std::string>;   // display_file() and name
using Key = std::tuple<Place, Function, std::int64_t>;  // and line, as A numbers it
using Sides = std::array<const LineShare*, 2>;          // in A and B; null: not reported
using Shifts = std::map<Function, std::int64_t>;        // a function's lines in B minus A's

Function function_of(const LineShare& line, const RunFacts& run) {
  return {display_file(line.file, run.working_folder), line.function};
}

// The lines of a run: its functions' times by line, over all places and categories.
std::map<Function, std::map<std::int64_t, double>> times_of(const LinesOfRun& side) {
  std::map<Function, std::map<std::int64_t, double>> times;
  for (const LineShare& line : side.loop.lines)
    times[function_of(line, side.run)][line.line] += static_cast<double>(to_ns(line.step));
  return times;
}

double overlap(const std::map<std::int64_t, double>& a, const std::map<std::int64_t, double>& b,
               std::int64_t shift) {
  double sum = 0;
  for (const auto& [line, ns] : a) {
    const auto other = b.find(line + shift);
    if (other != b.end()) sum += std::min(ns, other->second);
  }
  return sum;
}

// Code in the same place is taken to be the same, even if another shift fits better.
Shifts find_shifts(const LinesOfRun& a, const LinesOfRun& b) {
  constexpr double kUnmoved = 0.5;
  Shifts shifts;
  const auto times_b = times_of(b);
  for (const auto& [function, in_a] : times_of(a)) {
    const auto found = times_b.find(function);
    if (found == times_b.end()) continue;
    std::set<std::int64_t> candidates;
    for (const auto& [line_a, ns_a] : in_a) {
      for (const auto& [line_b, ns_b] : found->second) candidates.insert(line_b - line_a);
    }
    const double unmoved = overlap(in_a, found->second, 0);
    double best = unmoved / kUnmoved;
    for (const std::int64_t shift : candidates) {
      const double fit = overlap(in_a, found->second, shift);
      if (fit <= best) continue;
      best = fit;
      shifts[function] = shift;
    }
  }
  return shifts;
}

Place place_of(const LineShare& line) { return {line.place, line.category}; }

// The samples that the lines of each place and category rest on.
std::map<Place, double> samples_of(const LoopReport& loop) {
  std::map<Place, double> samples;
  for (const LineShare& line : loop.lines)
    samples[place_of(line)] += static_cast<double>(line.samples);
  return samples;
}

// The time of the line's category in a step.
Estimate category_time(const std::string& category, bool of_b,
                       const std::vector<PartDifference>& phases) {
  const std::string phase = category == "host" ? "other" : category;
  const auto part = std::ranges::find(phases, phase, &PartDifference::name);
  if (part == phases.end()) return {};
  return of_b ? part->ns.b : part->ns.a;
}

// The time of a line in a step: its share of the category's time, each with its error. For a line
// that a run does not report, the most that an unreported line may have.
Estimate line_time(const LineShare* line, double samples, const Estimate& category) {
  Estimate time = category;
  const double share = line != nullptr ? line->share : 0;
  const double error = line != nullptr ? (line->ci_high - line->ci_low) / 2 / kZ
                                       : std::max(kMinReported / kZ, kZ / (samples + kZ * kZ));
  time.value = share * category.value;
  time.error = std::hypot(error * category.value, share * category.error);
  time.steps = std::max(samples, 1.0);
  return time;
}

// The same line of both runs side by side.
std::map<Key, Sides> match_lines(const LinesOfRun& a, const LinesOfRun& b) {
  const Shifts shifts = find_shifts(a, b);
  std::map<Key, Sides> matched;
  for (const LineShare& line : a.loop.lines)
    matched[{place_of(line), function_of(line, a.run), line.line}][0] = &line;
  for (const LineShare& line : b.loop.lines) {
    const Function function = function_of(line, b.run);
    const auto shift = shifts.find(function);
    const std::int64_t line_in_a = line.line - (shift != shifts.end() ? shift->second : 0);
    matched[{place_of(line), function, line_in_a}][1] = &line;
  }
  return matched;
}

void control_and_sort(std::vector<LineDifference>& lines, double step_ns) {
  std::vector<Difference*> family;
  for (LineDifference& line : lines) {
    family.push_back(&line.ns);
    line.trifle = std::abs(line.ns.delta()) < kTrifle * step_ns;
  }
  control_false_discoveries(family);
  std::ranges::stable_sort(lines, [](const LineDifference& x, const LineDifference& y) {
    if (x.matters() != y.matters()) return x.matters();
    return std::abs(x.ns.delta()) > std::abs(y.ns.delta());
  });
}

}  // namespace

std::vector<LineDifference> compare_lines(const LinesOfRun& a, const LinesOfRun& b,
                                          const std::vector<PartDifference>& phases) {
  const LineUse &use_a = a.loop.line_use, &use_b = b.loop.line_use;
  if (std::min(use_a.loop_samples, use_b.loop_samples) < LineUse::kEnough) return {};
  // A loop that hardly waits has few samples of its workers, and needs none.
  const bool workers = std::max(use_a.worker_samples, use_b.worker_samples) >= LineUse::kEnough;
  const auto samples_a = samples_of(a.loop), samples_b = samples_of(b.loop);
  const auto time_of = [&](const LineShare* line, const Place& place, bool of_b) {
    const auto& samples = of_b ? samples_b : samples_a;
    const auto found = samples.find(place);
    return line_time(line, found != samples.end() ? found->second : 0,
                     category_time(place.second, of_b, phases));
  };
  std::vector<LineDifference> result;
  for (const auto& [key, sides] : match_lines(a, b)) {
    const auto& [place, function, line] = key;
    if (place.first == LinePlace::kWorker && !workers) continue;
    LineDifference found;
    found.place = place.first;
    found.category = place.second;
    std::tie(found.file, found.function) = function;
    found.line_a = sides[0] != nullptr ? sides[0]->line : 0;
    found.line_b = sides[1] != nullptr ? sides[1]->line : 0;
    found.ns = difference_of(time_of(sides[0], place, false), time_of(sides[1], place, true));
    result.push_back(std::move(found));
  }
  control_and_sort(result, static_cast<double>(a.loop.wall.mean));
  return result;
}

}  // namespace stepscope
