// What an analysis writes back into the store.
#include <algorithm>

#include "analyzer/analyze.h"

namespace stepscope {
namespace {

// A loop with several devices has its steps in each report, with the times of that device.
void add_steps(const std::vector<Step>& steps, std::vector<Step>& all) {
  const auto known = std::find_if(all.begin(), all.end(), [&](const Step& step) {
    return !steps.empty() && step.thread == steps.front().thread;
  });
  if (known == all.end()) {
    all.insert(all.end(), steps.begin(), steps.end());
    return;
  }
  auto same = known;
  for (const Step& step : steps) {
    same->times.insert(same->times.end(), step.times.begin(), step.times.end());
    same->kinds.insert(same->kinds.end(), step.kinds.begin(), step.kinds.end());
    ++same;
  }
}

// The same of its segments.
void add_segments(const std::vector<LoopSegment>& segments, std::vector<LoopSegment>& all) {
  const bool known = std::any_of(all.begin(), all.end(), [&](const LoopSegment& segment) {
    return !segments.empty() && segment.thread == segments.front().thread;
  });
  if (!known) all.insert(all.end(), segments.begin(), segments.end());
}

}  // namespace

Analysis to_analysis(const AnalysisReport& report) {
  Analysis analysis;
  for (const LoopReport& loop : report.loops) {
    add_steps(loop.steps, analysis.steps);
    add_segments(loop.segments, analysis.segments);
    // The same of each of its devices.
    const auto is_its_own = [&](const LineShare& line) {
      return !loop.lines.empty() && line.thread == loop.lines.front().thread;
    };
    if (std::none_of(analysis.lines.begin(), analysis.lines.end(), is_its_own))
      analysis.lines.insert(analysis.lines.end(), loop.lines.begin(), loop.lines.end());
    const bool modules_known = std::ranges::any_of(analysis.modules, [&](const ModuleTime& module) {
      return !loop.modules.empty() && module.thread == loop.modules.front().thread;
    });
    if (!modules_known)
      analysis.modules.insert(analysis.modules.end(), loop.modules.begin(), loop.modules.end());
    analysis.verdicts.push_back(loop.verdict);
  }
  analysis.call_ops = report.call_ops;
  analysis.priority_times = report.priority_times;
  analysis.utilizations = report.utilizations;
  analysis.device_facts = report.device_facts;
  if (!report.loops.empty()) return analysis;
  Verdict none;
  none.kind = "no-steps";
  none.confidence = "high";
  none.sentence = report.no_steps;
  analysis.verdicts.push_back(none);
  return analysis;
}

}  // namespace stepscope
