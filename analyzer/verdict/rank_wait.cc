#include "analyzer/verdict/rank_wait.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/verdict/bootstrap.h"
#include "analyzer/verdict/confidence.h"
#include "analyzer/verdict/summary.h"

namespace stepscope {
namespace {

constexpr std::string_view kCommunicationBound = "communication-bound";

// Sums over some steps, in ns.
struct Waited {
  double wait = 0, communication = 0, dur = 0;

  void add(const Step& step, double ns) {
    wait += ns;
    communication += static_cast<double>(exposed_ns(step, Category::kCommunication));
    dur += static_cast<double>(to_ns(step.dur));
  }
  [[nodiscard]] bool mostly() const { return wait > 0 && wait >= communication / 2; }
  [[nodiscard]] double share() const { return dur > 0 ? wait / dur : 0; }
};

void judge_kinds(LoopReport& loop, const std::unordered_map<std::size_t, double>& wait_of) {
  for (const auto& [index, ns] : wait_of) {
    Step& step = loop.steps[index];
    Waited waited;
    waited.add(step, ns);
    if (!step.kinds.empty() && step.kinds.front().kind == kCommunicationBound && waited.mostly())
      step.kinds.front().kind = kStragglerBound;
  }
  for (Population& kind : loop.populations) {
    if (kind.bottleneck.kind != kCommunicationBound) continue;
    Waited waited;
    for (const std::size_t index : kind.members) {
      const auto known = wait_of.find(index);
      if (known != wait_of.end()) waited.add(loop.steps[index], known->second);
    }
    if (!waited.mostly() || waited.share() < kStallNamed) continue;
    kind.bottleneck.kind = kStragglerBound;
    kind.bottleneck.straggler = true;
    kind.bottleneck.share = waited.share();
  }
}

// For a verdict that now rests on fewer steps, because only these were compared.
void lower_confidence(LoopReport& loop) {
  LoopVerdict& verdict = loop.verdict;
  std::vector<Doubt>& doubts = loop.basis.doubts;
  if (verdict.steps >= kEnoughSteps || verdict.steps == std::ssize(loop.analysed)) return;
  std::erase_if(doubts, [](const Doubt& doubt) { return doubt.kind == DoubtKind::kFewSteps; });
  doubts.push_back({DoubtKind::kFewSteps, verdict.steps});
  if (verdict.steps < kMinSteps) verdict.confidence = "low";
  if (verdict.confidence == "high") verdict.confidence = "medium";
}

void rename_verdict(LoopReport& loop, double rest) {
  const RankWait& wait = *loop.rank_wait;
  LoopVerdict& verdict = loop.verdict;
  Bottleneck& bottleneck = loop.basis.bottleneck;
  bottleneck.kind = verdict.kind = kStragglerBound;
  bottleneck.share = verdict.share = wait.share;
  bottleneck.straggler = true;
  verdict.ci_low = wait.ci.low;
  verdict.ci_high = wait.ci.high;
  verdict.steps = std::ssize(wait.steps);
  lower_confidence(loop);
  if (rest >= kStallListed)
    loop.basis.further.push_back({StallKind::kCategory, Category::kCommunication, rest});
  for (EvidenceFact& fact : verdict.evidence) {
    if (fact.kind == EvidenceKind::kShare)
      fact = {EvidenceKind::kRankWait, wait.share, "ratio", wait.query};
  }
}

}  // namespace

void judge_rank_wait(LoopReport& loop) {
  if (!loop.rank_wait) return;
  std::vector<double> waits, durations;
  std::unordered_map<std::size_t, double> wait_of;
  Waited all;
  for (const auto& [index, ns] : loop.rank_wait->steps) {
    waits.push_back(ns);
    durations.push_back(static_cast<double>(to_ns(loop.steps[index].dur)));
    wait_of[index] = ns;
    all.add(loop.steps[index], ns);
  }
  loop.rank_wait->share = all.share();
  loop.rank_wait->ci = bootstrap_ratio(waits, durations);
  judge_kinds(loop, wait_of);
  if (loop.verdict.kind == kCommunicationBound && all.mostly() && all.share() >= kStallNamed)
    rename_verdict(loop, all.communication / all.dur - all.share());
}

}  // namespace stepscope
