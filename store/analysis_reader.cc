#include <map>
#include <string>
#include <utility>

#include "store/analysis_rows.h"
#include "store/rows.h"

namespace stepscope {
namespace {

StepMarker marker_of(const std::string& name, RowCheck& check) {
  for (int i = 0; i <= static_cast<int>(StepMarker::kInferred); ++i) {
    if (name == marker_name(static_cast<StepMarker>(i))) return static_cast<StepMarker>(i);
  }
  check.fail("has an unknown marker");
  return StepMarker::kInferred;
}

Category category_of(const std::string& name, RowCheck& check) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (name == category_name(static_cast<Category>(i))) return static_cast<Category>(i);
  }
  check.fail("has an unknown category");
  return Category::kOther;
}

// Step numbers and counts, which are never added up.
std::int64_t number_of(const Statement& row, RowCheck& check, int at, const char* column) {
  return check.integer_or(row.value(at), column, 0, 0, kLargestValue);
}

Step step_of(const Statement& row, RowCheck& check) {
  Step step;
  step.thread = check.thread_or_none(row.value(1));
  step.number = number_of(row, check, 2, "number");
  step.start = check.time(row.value(3));
  step.dur = check.duration(row.value(4));
  step.marker = marker_of(row.text(5), check);
  step.ops_recorded = check.flag(row.value(6), "ops_recorded");
  step.steady = check.flag(row.value(7), "steady");
  step.paused = check.duration(row.value(8), "paused_ns");
  return step;
}

SegmentKind segment_kind_of(const std::string& name, RowCheck& check) {
  for (int i = 0; i < kSegmentKindCount; ++i) {
    if (name == segment_name(static_cast<SegmentKind>(i))) return static_cast<SegmentKind>(i);
  }
  check.fail("has an unknown kind");
  return SegmentKind::kEvaluation;
}

LoopSegment segment_of(const Statement& row, RowCheck& check) {
  LoopSegment segment;
  segment.thread = check.thread_or_none(row.value(0));
  segment.kind = segment_kind_of(row.text(1), check);
  segment.start = check.time(row.value(2));
  segment.dur = check.duration(row.value(3));
  segment.step = number_of(row, check, 4, "step");
  segment.batches = number_of(row, check, 5, "batches");
  segment.input = check.duration(row.value(6), "input_ns");
  return segment;
}

LinePlace line_place_of(const std::string& name, RowCheck& check) {
  for (int i = 0; i < kLinePlaceCount; ++i) {
    if (name == line_place_name(static_cast<LinePlace>(i))) return static_cast<LinePlace>(i);
  }
  check.fail("has '" + name + "' as its place");
  return LinePlace::kLoop;
}

LineShare line_share_of(const Statement& row, RowCheck& check) {
  LineShare line;
  line.thread = check.thread_or_none(row.value(0));
  line.place = line_place_of(row.text(1), check);
  line.category = row.text(2);
  line.file = row.text(3);
  line.line = number_of(row, check, 4, "line");
  line.function = row.text(5);
  line.inside = row.text(6);
  line.blocked = row.text(7);
  line.samples = number_of(row, check, 8, "samples");
  line.share = row.real(9);
  line.ci_low = row.real(10);
  line.ci_high = row.real(11);
  line.step = check.duration(row.value(12), "step_ns");
  return line;
}

StepTime step_time_of(const Statement& row, RowCheck& check) {
  StepTime time;
  time.category = category_of(row.text(1), check);
  time.phase = check.kind(row.value(2), "phase", kLastPhaseOfOps);
  time.label = row.text(3);
  time.exposed = check.duration(row.value(4), "exposed_ns");
  time.hidden = check.duration(row.value(5), "hidden_ns");
  time.device = check.device_or_none(row.value(6));
  return time;
}

Verdict verdict_of(const Statement& row, RowCheck& check) {
  Verdict verdict;
  verdict.thread = check.thread_or_none(row.value(1));
  verdict.kind = row.text(2);
  verdict.degree = row.text(3);
  verdict.share = row.real(4);
  verdict.ci_low = row.real(5);
  verdict.ci_high = row.real(6);
  verdict.confidence = row.text(7);
  verdict.sentence = row.text(8);
  verdict.steps = number_of(row, check, 9, "steps");
  verdict.device = check.device_or_none(row.value(10));
  return verdict;
}

StepKind step_kind_of(const Statement& row, RowCheck& check) {
  return {row.text(1), number_of(row, check, 2, "population"), check.device_or_none(row.value(3))};
}

StepPopulation population_of(const Statement& row, RowCheck& check) {
  StepPopulation population;
  population.number = number_of(row, check, 1, "number");
  population.steps = number_of(row, check, 2, "steps");
  population.mean_ns = number_of(row, check, 3, "mean_ns");
  population.share = row.real(4);
  population.label = row.text(5);
  population.kind = row.text(6);
  population.degree = row.text(7);
  population.period = number_of(row, check, 8, "period");
  population.first = number_of(row, check, 9, "first_step");
  return population;
}

Advice advice_of(const Statement& row, RowCheck& check) {
  Advice advice;
  advice.rule = row.text(2);
  advice.title = row.text(3);
  advice.why = row.text(4);
  advice.predicted_step_ns = number_of(row, check, 5, "predicted_step_ns");
  advice.saves_ns = check.integer(row.value(6), "saves_ns", -kLargestValue, kLargestValue);
  const LikelyStep likely{check.integer_or(row.value(7), "likely_low_ns", 0, 0, kLargestValue),
                          check.integer_or(row.value(8), "likely_high_ns", 0, 0, kLargestValue)};
  if (likely != LikelyStep{}) advice.likely = likely;
  return advice;
}

Evidence evidence_of(const Statement& row) {
  return {row.text(2), row.real(3), row.text(4), row.text(5)};
}

// Calls visit(row, check) for each row of a table. `visit` may return an error of its own.
template <typename Visit>
Status read_table(Database& database, const KnownIds& known, const char* table, const char* columns,
                  const Visit& visit) {
  RowCheck check(table, known);
  const std::string sql = std::string("SELECT ") + columns + ", id FROM " + table + " ORDER BY id";
  return for_each_row(database, sql, [&](const Statement& row) {
    check.any_row(row.integer(sqlite3_column_count(row.handle()) - 1));
    visit(row, check);
    return check.ok() ? Status() : check.status(database);
  });
}

Status read_steps(Database& database, const KnownIds& known, std::vector<Step>& steps) {
  std::map<std::int64_t, std::size_t> by_id;
  Status status =
      read_table(database, known, "step",
                 "id, thread_id, number, start_ns, dur_ns, marker, ops_recorded, steady, paused_ns",
                 [&](const Statement& row, RowCheck& check) {
                   by_id[row.integer(0)] = steps.size();
                   steps.push_back(step_of(row, check));
                 });
  const auto of_step = [&](const Statement& row) -> Step* {
    const auto step = by_id.find(row.integer(0));
    return step == by_id.end() ? nullptr : &steps[step->second];
  };
  if (status.ok()) {
    status = read_table(database, known, "step_time",
                        "step_id, category, phase, label, exposed_ns, hidden_ns, device_id",
                        [&](const Statement& row, RowCheck& check) {
                          const StepTime time = step_time_of(row, check);
                          if (Step* step = of_step(row)) step->times.push_back(time);
                        });
  }
  if (!status.ok()) return status;
  return read_table(database, known, "step_kind", "step_id, kind, population, device_id",
                    [&](const Statement& row, RowCheck& check) {
                      const StepKind kind = step_kind_of(row, check);
                      if (Step* step = of_step(row)) step->kinds.push_back(kind);
                    });
}

Status read_verdicts(Database& database, const KnownIds& known, std::vector<Verdict>& verdicts) {
  std::map<std::int64_t, std::size_t> by_id;
  std::map<std::int64_t, std::pair<std::size_t, std::size_t>> advice_by_id;
  const auto verdict_of_id = [&](std::int64_t id) -> Verdict* {
    const auto verdict = by_id.find(id);
    return verdict == by_id.end() ? nullptr : &verdicts[verdict->second];
  };
  Status status = read_table(
      database, known, "verdict",
      "id, thread_id, kind, degree, share, ci_low, ci_high, confidence, sentence, steps, device_id",
      [&](const Statement& row, RowCheck& check) {
        by_id[row.integer(0)] = verdicts.size();
        verdicts.push_back(verdict_of(row, check));
      });
  if (!status.ok()) return status;
  status = read_table(
      database, known, "population",
      "verdict_id, number, steps, mean_ns, share, label, kind, degree, period, first_step",
      [&](const Statement& row, RowCheck& check) {
        const StepPopulation population = population_of(row, check);
        if (Verdict* verdict = verdict_of_id(row.integer(0)))
          verdict->populations.push_back(population);
      });
  if (!status.ok()) return status;
  status = read_table(database, known, "advice",
                      "id, verdict_id, rule, title, why, predicted_step_ns, saves_ns, "
                      "likely_low_ns, likely_high_ns",
                      [&](const Statement& row, RowCheck& check) {
                        const Advice advice = advice_of(row, check);
                        const auto verdict = by_id.find(row.integer(1));
                        if (verdict == by_id.end()) return;
                        std::vector<Advice>& all = verdicts[verdict->second].advice;
                        advice_by_id[row.integer(0)] = {verdict->second, all.size()};
                        all.push_back(advice);
                      });
  if (!status.ok()) return status;
  return read_table(database, known, "evidence",
                    "verdict_id, advice_id, statement, value, unit, query",
                    [&](const Statement& row, RowCheck&) {
                      if (row.is_null(1)) {
                        if (Verdict* verdict = verdict_of_id(row.integer(0)))
                          verdict->evidence.push_back(evidence_of(row));
                        return;
                      }
                      const auto advice = advice_by_id.find(row.integer(1));
                      if (advice == advice_by_id.end()) return;
                      const auto [verdict, at] = advice->second;
                      verdicts[verdict].advice[at].evidence = evidence_of(row);
                    });
}

Status read_segments(Database& database, const KnownIds& known,
                     std::vector<LoopSegment>& segments) {
  return read_table(
      database, known, "segment", "thread_id, kind, start_ns, dur_ns, step, batches, input_ns",
      [&](const Statement& row, RowCheck& check) { segments.push_back(segment_of(row, check)); });
}

Status read_line_shares(Database& database, const KnownIds& known, std::vector<LineShare>& lines) {
  return read_table(
      database, known, "line_share",
      "thread_id, place, category, file, line, function, inside, blocked, samples, share, ci_low,"
      " ci_high, step_ns",
      [&](const Statement& row, RowCheck& check) { lines.push_back(line_share_of(row, check)); });
}

}  // namespace

Result<Analysis> read_analysis(Database& database, const KnownIds& known) {
  Analysis analysis;
  Status status = read_steps(database, known, analysis.steps);
  if (status.ok()) status = read_segments(database, known, analysis.segments);
  if (status.ok()) status = read_line_shares(database, known, analysis.lines);
  if (status.ok()) status = read_verdicts(database, known, analysis.verdicts);
  if (!status.ok()) return status;
  return analysis;
}

}  // namespace stepscope
