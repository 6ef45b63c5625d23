#include <map>
#include <utility>

#include "store/analysis_rows.h"
#include "store/rows.h"

namespace stepscope {
namespace {

StepMarker marker_of(const std::string& name) {
  for (int i = 0; i < static_cast<int>(StepMarker::kInferred); ++i) {
    if (name == marker_name(static_cast<StepMarker>(i))) return static_cast<StepMarker>(i);
  }
  return StepMarker::kInferred;
}

Category category_of(const std::string& name) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (name == category_name(static_cast<Category>(i))) return static_cast<Category>(i);
  }
  return Category::kOther;
}

Step step_of(const Statement& row) {
  Step step;
  step.thread = static_cast<ThreadId>(row.integer(1));
  step.number = row.integer(2);
  step.start = session_time(row.integer(3));
  step.dur = Duration(row.integer(4));
  step.marker = marker_of(row.text(5));
  step.ops_recorded = row.integer(6) != 0;
  step.steady = row.integer(7) != 0;
  return step;
}

StepTime step_time_of(const Statement& row) {
  StepTime time;
  time.category = category_of(row.text(1));
  time.phase = static_cast<PhaseKind>(row.integer(2));
  time.label = row.text(3);
  time.exposed = Duration(row.integer(4));
  time.hidden = Duration(row.integer(5));
  time.device = static_cast<DeviceId>(row.integer(6));
  return time;
}

Verdict verdict_of(const Statement& row) {
  Verdict verdict;
  verdict.thread = static_cast<ThreadId>(row.integer(1));
  verdict.kind = row.text(2);
  verdict.degree = row.text(3);
  verdict.share = row.real(4);
  verdict.ci_low = row.real(5);
  verdict.ci_high = row.real(6);
  verdict.confidence = row.text(7);
  verdict.sentence = row.text(8);
  verdict.steps = row.integer(9);
  verdict.device = static_cast<DeviceId>(row.integer(10));
  return verdict;
}

StepKind step_kind_of(const Statement& row) {
  return {row.text(1), row.integer(2), static_cast<DeviceId>(row.integer(3))};
}

StepPopulation population_of(const Statement& row) {
  return {row.integer(1), row.integer(2), row.integer(3), row.real(4),   row.text(5),
          row.text(6),    row.text(7),    row.integer(8), row.integer(9)};
}

Advice advice_of(const Statement& row) {
  Advice advice;
  advice.rule = row.text(2);
  advice.title = row.text(3);
  advice.why = row.text(4);
  advice.predicted_step_ns = row.integer(5);
  advice.saves_ns = row.integer(6);
  return advice;
}

Evidence evidence_of(const Statement& row) {
  return {row.text(2), row.real(3), row.text(4), row.text(5)};
}

Status read_steps(Database& database, std::vector<Step>& steps) {
  std::map<std::int64_t, std::size_t> by_id;
  const Status status =
      for_each_row(database,
                   "SELECT id, thread_id, number, start_ns, dur_ns, marker, ops_recorded, steady"
                   " FROM step ORDER BY id",
                   [&](const Statement& row) {
                     by_id[row.integer(0)] = steps.size();
                     steps.push_back(step_of(row));
                   });
  if (!status.ok()) return status;
  const auto of_step = [&](const Statement& row) -> Step* {
    const auto step = by_id.find(row.integer(0));
    return step == by_id.end() ? nullptr : &steps[step->second];
  };
  const Status times =
      for_each_row(database,
                   "SELECT step_id, category, phase, label, exposed_ns, hidden_ns, device_id"
                   " FROM step_time ORDER BY id",
                   [&](const Statement& row) {
                     if (Step* step = of_step(row)) step->times.push_back(step_time_of(row));
                   });
  if (!times.ok()) return times;
  return for_each_row(database,
                      "SELECT step_id, kind, population, device_id FROM step_kind ORDER BY id",
                      [&](const Statement& row) {
                        if (Step* step = of_step(row)) step->kinds.push_back(step_kind_of(row));
                      });
}

Status read_verdicts(Database& database, std::vector<Verdict>& verdicts) {
  std::map<std::int64_t, std::size_t> by_id;
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> advice_by_id;
  Status status = for_each_row(
      database,
      "SELECT id, thread_id, kind, degree, share, ci_low, ci_high, confidence, sentence, steps,"
      " device_id"
      " FROM verdict ORDER BY id",
      [&](const Statement& row) {
        by_id[row.integer(0)] = verdicts.size();
        verdicts.push_back(verdict_of(row));
      });
  if (!status.ok()) return status;
  status = for_each_row(
      database,
      "SELECT verdict_id, number, steps, mean_ns, share, label, kind, degree, period, first_step"
      " FROM population ORDER BY id",
      [&](const Statement& row) {
        const auto verdict = by_id.find(row.integer(0));
        if (verdict != by_id.end())
          verdicts[verdict->second].populations.push_back(population_of(row));
      });
  if (!status.ok()) return status;
  status = for_each_row(database,
                        "SELECT id, verdict_id, rule, title, why, predicted_step_ns, saves_ns FROM "
                        "advice ORDER BY id",
                        [&](const Statement& row) {
                          const auto verdict = by_id.find(row.integer(1));
                          if (verdict == by_id.end()) return;
                          std::vector<Advice>& advice = verdicts[verdict->second].advice;
                          advice_by_id[row.integer(0)] = {verdict->second, advice.size()};
                          advice.push_back(advice_of(row));
                        });
  if (!status.ok()) return status;
  return for_each_row(
      database,
      "SELECT verdict_id, advice_id, statement, value, unit, query FROM evidence ORDER BY id",
      [&](const Statement& row) {
        if (row.is_null(1)) {
          const auto verdict = by_id.find(row.integer(0));
          if (verdict != by_id.end())
            verdicts[verdict->second].evidence.push_back(evidence_of(row));
          return;
        }
        const auto advice = advice_by_id.find(row.integer(1));
        if (advice == advice_by_id.end()) return;
        const auto [verdict, at] = advice->second;
        verdicts[verdict].advice[at].evidence = evidence_of(row);
      });
}

}  // namespace

Result<Analysis> read_analysis(Database& database) {
  Analysis analysis;
  if (Status status = read_steps(database, analysis.steps); !status.ok()) return status;
  if (Status status = read_verdicts(database, analysis.verdicts); !status.ok()) return status;
  return analysis;
}

}  // namespace stepscope
