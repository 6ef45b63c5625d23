#include "present/stored_analysis.h"

#include <algorithm>

#include "present/advice/advice_words.h"
#include "present/death_words.h"
#include "present/evidence_words.h"
#include "present/population_words.h"
#include "present/verdict_words.h"

namespace stepscope {
namespace {

// A loop with several devices has one report per device. Each has all steps of the loop, with the
// times of that device.
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

// Each of these reports also has all segments of the loop: adds them once.
void add_segments(const std::vector<LoopSegment>& segments, std::vector<LoopSegment>& all) {
  const bool known = std::any_of(all.begin(), all.end(), [&](const LoopSegment& segment) {
    return !segments.empty() && segment.thread == segments.front().thread;
  });
  if (!known) all.insert(all.end(), segments.begin(), segments.end());
}

std::vector<StepPopulation> populations_of(const LoopReport& loop) {
  std::vector<StepPopulation> rows;
  for (std::size_t i = 0; i < loop.populations.size(); ++i) {
    const Population& kind = loop.populations[i];
    rows.push_back({static_cast<std::int64_t>(i + 1), kind.steps, kind.mean_ns, kind.share,
                    population_label(loop, i), kind.bottleneck.kind, kind.bottleneck.degree,
                    kind.period, kind.first});
  }
  return rows;
}

Verdict make_verdict(const LoopReport& loop) {
  const LoopVerdict& facts = loop.verdict;
  Verdict verdict{.thread = facts.thread,
                  .kind = facts.kind,
                  .degree = facts.degree,
                  .share = facts.share,
                  .ci_low = facts.ci_low,
                  .ci_high = facts.ci_high,
                  .confidence = facts.confidence,
                  .sentence = verdict_sentence(loop),
                  .steps = facts.steps,
                  .evidence = {},
                  .advice = make_advice(loop),
                  .device = facts.device,
                  .populations = populations_of(loop)};
  for (const EvidenceFact& fact : facts.evidence)
    verdict.evidence.push_back(make_evidence(fact, statement_of(fact, loop)));
  return verdict;
}

}  // namespace

Analysis to_analysis(const AnalysisReport& report) {
  Analysis analysis;
  for (const LoopReport& loop : report.loops) {
    add_steps(loop.steps, analysis.steps);
    add_segments(loop.segments, analysis.segments);
    // The reports of a loop's devices have the same lines and modules: add them once.
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
    analysis.verdicts.push_back(make_verdict(loop));
  }
  analysis.call_ops = report.call_ops;
  analysis.priority_times = report.priority_times;
  analysis.utilizations = report.utilizations;
  analysis.device_facts = report.device_facts;
  if (!report.loops.empty()) return analysis;
  Verdict none;
  none.kind = "no-steps";
  none.confidence = "high";
  none.sentence = no_steps_text(report);
  analysis.verdicts.push_back(none);
  return analysis;
}

}  // namespace stepscope
