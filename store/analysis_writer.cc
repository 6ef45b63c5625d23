#include <optional>
#include <string_view>
#include <utility>

#include "store/analysis_rows.h"
#include "store/table_rows.h"

namespace stepscope {
namespace {

using Text = std::optional<std::string_view>;

Text nullable_text(const std::string& text) { return text.empty() ? Text() : Text(text); }

// They are not in schema.sql, because a recorder must not pay for them.
constexpr char kIndexes[] =
    "CREATE INDEX IF NOT EXISTS step_by_start ON step(thread_id, start_ns);"
    "CREATE INDEX IF NOT EXISTS segment_by_start ON segment(thread_id, start_ns);"
    "CREATE INDEX IF NOT EXISTS step_time_by_step ON step_time(step_id);"
    "CREATE INDEX IF NOT EXISTS step_kind_by_step ON step_kind(step_id);"
    "CREATE INDEX IF NOT EXISTS api_call_by_correlation ON api_call(correlation)"
    " WHERE correlation IS NOT NULL;";

// WHERE 1 makes SQLite delete row by row, which counts as steps and is therefore limited. Without a
// condition SQLite frees whole trees, and in a damaged file a tree can lead to the same page again
// and again.
constexpr char kClear[] =
    "DELETE FROM evidence WHERE 1; DELETE FROM advice WHERE 1; DELETE FROM population WHERE 1;"
    "DELETE FROM verdict WHERE 1; DELETE FROM step_time WHERE 1; DELETE FROM step_kind WHERE 1;"
    "DELETE FROM step WHERE 1; DELETE FROM segment WHERE 1; DELETE FROM line_share WHERE 1;"
    "DELETE FROM module_time WHERE 1;"
    "DELETE FROM call_op WHERE 1; DELETE FROM priority_time WHERE 1;"
    "DELETE FROM kernel_time WHERE 1; DELETE FROM launch WHERE 1; DELETE FROM kernel_name WHERE 1;"
    "DELETE FROM occupancy WHERE 1; DELETE FROM copy_overlap WHERE 1; DELETE FROM stream_time "
    "WHERE 1;";

class AnalysisWriter {
 public:
  static Result<AnalysisWriter> prepare(Database& database) {
    AnalysisWriter writer;
    const StatementText statements[] = {
        {&writer.step_, "INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
        {&writer.segment_, "INSERT INTO segment VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
        {&writer.line_,
         "INSERT INTO line_share VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
         " ?13)"},
        {&writer.module_,
         "INSERT INTO module_time VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
         " ?13)"},
        {&writer.time_, "INSERT INTO step_time VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
        {&writer.kind_, "INSERT INTO step_kind VALUES (NULL, ?1, ?2, ?3, ?4)"},
        {&writer.population_,
         "INSERT INTO population VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
        {&writer.verdict_,
         "INSERT INTO verdict VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"},
        {&writer.advice_, "INSERT INTO advice VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
        {&writer.evidence_, "INSERT INTO evidence VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)"},
        {&writer.call_op_, "INSERT INTO call_op VALUES (?1, ?2)"},
        {&writer.priority_,
         "INSERT INTO priority_time VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
        {&writer.kernel_time_, "INSERT INTO kernel_time VALUES (NULL, ?1, ?2, ?3, ?4)"},
        {&writer.launch_, "INSERT INTO launch VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
        {&writer.kernel_name_, "INSERT INTO kernel_name VALUES (?1, ?2)"},
        {&writer.occupancy_, "INSERT INTO occupancy VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
        {&writer.overlap_, "INSERT INTO copy_overlap VALUES (?1, ?2)"},
        {&writer.stream_time_, "INSERT INTO stream_time VALUES (?1, ?2, ?3)"}};
    if (Status status = prepare_all(database, statements); !status.ok()) return status;
    return writer;
  }

  Status add(const Step& step) {
    const std::int64_t id = ++steps_;
    const Status status =
        step_.run(id, nullable(step.thread), step.number, to_ns(step.start), to_ns(step.dur),
                  std::string_view(marker_name(step.marker)), std::int64_t{step.ops_recorded},
                  std::int64_t{step.steady}, to_ns(step.paused));
    if (!status.ok()) return status;
    for (const StepTime& time : step.times) {
      const Status added =
          time_.run(id, std::string_view(category_name(time.category)),
                    static_cast<std::int64_t>(time.phase), nullable_text(time.label),
                    to_ns(time.exposed), to_ns(time.hidden), nullable(time.device));
      if (!added.ok()) return added;
    }
    for (const StepKind& kind : step.kinds) {
      const Status added = kind_.run(id, nullable(kind.device), std::string_view(kind.kind),
                                     nullable(kind.population));
      if (!added.ok()) return added;
    }
    return {};
  }

  Status add(const LoopSegment& segment) {
    return segment_.run(static_cast<std::int64_t>(segment.thread),
                        std::string_view(segment_name(segment.kind)), to_ns(segment.start),
                        to_ns(segment.dur), nullable(segment.step), segment.batches,
                        to_ns(segment.input));
  }

  Status add(const LineShare& line) {
    return line_.run(static_cast<std::int64_t>(line.thread),
                     std::string_view(line_place_name(line.place)), std::string_view(line.category),
                     std::string_view(line.file), line.line, std::string_view(line.function),
                     std::string_view(line.inside), std::string_view(line.blocked), line.samples,
                     line.share, line.ci_low, line.ci_high, to_ns(line.step));
  }

  Status add(const ModuleTime& module) {
    return module_.run(static_cast<std::int64_t>(module.thread), std::string_view(module.root),
                       std::string_view(module.name), std::string_view(module.class_name),
                       module.steps, module.calls, module.recomputed, module.ops,
                       to_ns(module.forward), to_ns(module.forward_self), to_ns(module.backward),
                       to_ns(module.backward_self), module.held_bytes);
  }

  Status add(const Verdict& verdict) {
    const std::int64_t id = ++verdicts_;
    const Status status = verdict_.run(
        id, nullable(verdict.thread), std::string_view(verdict.kind), nullable_text(verdict.degree),
        verdict.share, verdict.ci_low, verdict.ci_high, std::string_view(verdict.confidence),
        std::string_view(verdict.sentence), verdict.steps, nullable(verdict.device));
    if (!status.ok()) return status;
    for (const StepPopulation& population : verdict.populations) {
      if (Status added = add(population, id); !added.ok()) return added;
    }
    for (const Evidence& evidence : verdict.evidence) {
      if (Status added = add(evidence, id, std::nullopt); !added.ok()) return added;
    }
    for (const Advice& advice : verdict.advice) {
      if (Status added = add(advice, id); !added.ok()) return added;
    }
    return {};
  }

  Status add(const CallOp& call) { return call_op_.run(call.api_call, call.op); }

  Status add(const PriorityTime& time) {
    return priority_.run(static_cast<std::int64_t>(time.thread), time.step, to_ns(time.kernel),
                         to_ns(time.memcpy), to_ns(time.memset), to_ns(time.runtime),
                         to_ns(time.dataloader), to_ns(time.cpu_op), to_ns(time.other));
  }

  Status add(const DeviceUtilization& use) {
    return kernel_time_.run(static_cast<std::int64_t>(use.thread),
                            static_cast<std::int64_t>(use.device), to_ns(use.kernel),
                            to_ns(use.span));
  }

  Status add(const Launch& launch) {
    return launch_.run(launch.correlation, launch.api_call, static_cast<std::int64_t>(launch.phase),
                       nullable(launch.op), nullable(launch.node), nullable(launch.forward_op),
                       launch.activities);
  }

  Status add(const KernelName& kernel) {
    return kernel_name_.run(static_cast<std::int64_t>(kernel.name),
                            std::int64_t{kernel.tensor_cores});
  }

  Status add(const Occupancy& shape) {
    return occupancy_.run(static_cast<std::int64_t>(shape.device), shape.block_threads,
                          shape.registers, shape.shared_bytes, shape.blocks, shape.warps,
                          shape.occupancy, std::string_view(shape.limited_by));
  }

  Status add(const CopyOverlap& overlap) {
    return overlap_.run(overlap.copy, to_ns(overlap.kernel));
  }

  Status add(const StreamTime& time) {
    return stream_time_.run(static_cast<std::int64_t>(time.stream), to_ns(time.busy),
                            to_ns(time.span));
  }

 private:
  Status add(const StepPopulation& population, std::int64_t verdict) {
    return population_.run(verdict, population.number, population.steps, population.mean_ns,
                           population.share, std::string_view(population.label),
                           std::string_view(population.kind), nullable_text(population.degree),
                           nullable(population.period), nullable(population.first));
  }

  Status add(const Advice& advice, std::int64_t verdict) {
    const std::int64_t id = ++advices_;
    const LikelyStep likely = advice.likely.value_or(LikelyStep{});
    const Status status =
        advice_.run(id, verdict, std::string_view(advice.rule), std::string_view(advice.title),
                    std::string_view(advice.why), advice.predicted_step_ns, advice.saves_ns,
                    unless(likely.low_ns, 0), unless(likely.high_ns, 0));
    return status.ok() ? add(advice.evidence, verdict, id) : status;
  }

  Status add(const Evidence& evidence, std::int64_t verdict, NullableInteger advice) {
    return evidence_.run(verdict, advice, std::string_view(evidence.statement), evidence.value,
                         std::string_view(evidence.unit), std::string_view(evidence.query));
  }

  Statement step_, segment_, line_, module_, time_, kind_, population_, verdict_, advice_,
      evidence_, call_op_, priority_, kernel_time_, launch_, kernel_name_, occupancy_, overlap_,
      stream_time_;
  std::int64_t steps_ = 0, verdicts_ = 0, advices_ = 0;
};

}  // namespace

Status write_analysis(Database& database, const Analysis& analysis) {
  if (Status status = database.exec(kClear); !status.ok()) return status;
  Result<AnalysisWriter> writer = AnalysisWriter::prepare(database);
  if (!writer.ok()) return writer.status();
  const auto add_all = [&](const auto& rows) {
    for (const auto& row : rows) {
      if (Status status = writer->add(row); !status.ok()) return status;
    }
    return Status();
  };
  if (Status status = add_all(analysis.steps); !status.ok()) return status;
  if (Status status = add_all(analysis.segments); !status.ok()) return status;
  if (Status status = add_all(analysis.lines); !status.ok()) return status;
  if (Status status = add_all(analysis.modules); !status.ok()) return status;
  if (Status status = add_all(analysis.verdicts); !status.ok()) return status;
  if (Status status = add_all(analysis.call_ops); !status.ok()) return status;
  if (Status status = add_all(analysis.priority_times); !status.ok()) return status;
  if (Status status = add_all(analysis.utilizations); !status.ok()) return status;
  const DeviceFacts& facts = analysis.device_facts;
  if (Status status = add_all(facts.launches); !status.ok()) return status;
  if (Status status = add_all(facts.kernel_names); !status.ok()) return status;
  if (Status status = add_all(facts.occupancies); !status.ok()) return status;
  if (Status status = add_all(facts.overlaps); !status.ok()) return status;
  if (Status status = add_all(facts.streams); !status.ok()) return status;
  return database.exec(kIndexes);
}

}  // namespace stepscope
