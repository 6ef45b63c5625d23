#include "analyzer/verdict/evidence.h"

#include <string>

namespace stepscope {
namespace {

// The rows of step_breakdown that are about this loop and device.
std::string of_loop(const LoopReport& report) {
  const LoopVerdict& verdict = report.verdict;
  const std::string device = verdict.device == DeviceId::kNone
                                 ? "NULL"
                                 : std::to_string(static_cast<std::uint32_t>(verdict.device));
  return "thread_id = " + std::to_string(static_cast<std::uint32_t>(verdict.thread)) +
         " AND device_id IS " + device;
}

EvidenceFact share_evidence(const LoopReport& report, const Bottleneck& bottleneck) {
  const std::string columns = bottleneck.category == Category::kHost
                                  ? "host_ns + other_ns"
                                  : std::string(category_name(bottleneck.category)) + "_ns";
  const std::string which = report.recording.ops.plain_steps > 0 ? " AND population > 0"
                            : report.ops_recorded                ? " AND ops_recorded"
                                                                 : "";
  return {EvidenceKind::kShare, bottleneck.share, "ratio",
          "SELECT 1.0 * sum(" + columns + ") / sum(dur_ns) AS share FROM step_breakdown WHERE " +
              of_loop(report) + " AND steady" + which};
}

// One row for each kind of step except the usual one.
void add_population_evidence(const LoopReport& report, std::vector<EvidenceFact>& evidence) {
  for (std::size_t i = 1; i < report.populations.size(); ++i) {
    const Population& kind = report.populations[i];
    evidence.push_back({EvidenceKind::kPopulation, static_cast<double>(kind.mean_ns), "ns",
                        "SELECT round(avg(dur_ns)) FROM step_breakdown WHERE " + of_loop(report) +
                            " AND population = " + std::to_string(i + 1),
                        i});
  }
}

void add_drift_evidence(const LoopReport& report, std::vector<EvidenceFact>& evidence) {
  if (!report.drift) return;
  const auto [late, early] = report.drift->thirds;
  const auto mean_of = [](const std::string& which) {
    return "avg(iif(number " + which + ", dur_ns, NULL))";
  };
  evidence.push_back({EvidenceKind::kDrift, report.drift->between_thirds_ns, "ns",
                      "SELECT " + mean_of(">= " + std::to_string(late)) + " - " +
                          mean_of("< " + std::to_string(early)) + " FROM step_breakdown WHERE " +
                          of_loop(report) + " AND population = 1"});
}

}  // namespace

std::vector<EvidenceFact> evidence_of(const LoopReport& report, const Bottleneck& bottleneck) {
  std::vector<EvidenceFact> evidence;
  if (bottleneck.memory_pressure) evidence = report.memory.evidence;
  if (!bottleneck.overlaps()) evidence = {share_evidence(report, bottleneck)};
  if (report.starvation.share >= kStallListed) {
    const auto& more = report.starvation.evidence;
    evidence.insert(evidence.end(), more.begin(), more.end());
  }
  add_population_evidence(report, evidence);
  add_drift_evidence(report, evidence);
  return evidence;
}

}  // namespace stepscope
