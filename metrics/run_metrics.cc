#include "metrics/run_metrics.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

double to_seconds(double ns) { return ns / 1e9; }

Labels with(Labels labels, const Labels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

std::string number_or_nothing(std::int64_t number) {
  return number < 0 ? "" : std::to_string(number);
}

// Everything of one training loop.
struct LoopRow {
  const LoopReport* report;
  LoopTotals totals;
  Labels labels;
};

// A thread other than the main thread is named, so that no two loops have the same labels.
Labels labels_of(const LoopReport& loop, const Labels& run) {
  const bool on_device = loop.device != DeviceId::kNone;
  return with(run, {{"rank", number_or_nothing(loop.rank)},
                    {"pid", std::to_string(loop.pid)},
                    {"thread", loop.tid == loop.pid ? "" : std::to_string(loop.tid)},
                    {"device", on_device ? std::to_string(loop.device_number) : ""}});
}

std::vector<LoopRow> rows_of(const LiveFrame& frame, const LoopTotalsTable& totals,
                             const Labels& run) {
  std::vector<LoopRow> rows;
  for (std::size_t i = 0; i < frame.loops.size(); ++i) {
    const LoopReport& loop = frame.window.loops[i];
    rows.push_back({&loop, totals.of(key_of(loop, frame.loops[i])), labels_of(loop, run)});
  }
  return rows;
}

// A family with a point for each loop; `value` gives nothing for a loop that has none.
template <typename Value>
MetricFamily of_loops(MetricFamily family, const std::vector<LoopRow>& rows, const Value& value) {
  for (const LoopRow& row : rows) {
    const std::optional<double> number = value(row);
    if (number) family.points.push_back({row.labels, *number});
  }
  return family;
}

// The same, split by `label`: `name_of(i)` names the i-th of `values(row)`.
template <typename Name, typename Values>
MetricFamily split_by(const char* label, MetricFamily family, const std::vector<LoopRow>& rows,
                      const Name& name_of, const Values& values) {
  for (const LoopRow& row : rows) {
    const auto& all = values(row);
    for (std::size_t i = 0; i < all.size(); ++i)
      family.points.push_back({with(row.labels, {{label, name_of(i)}}), all[i]});
  }
  return family;
}

std::string category_at(std::size_t i) { return category_name(static_cast<Category>(i)); }

void add_totals(Metrics& metrics, const std::vector<LoopRow>& rows) {
  constexpr MetricType kCounter = MetricType::kCounter;
  metrics.push_back(of_loops({"stepscope_steps", kCounter, "", "Steps that have ended.", {}}, rows,
                             [](const LoopRow& row) { return row.totals.steps; }));
  metrics.push_back(of_loops({"stepscope_step_time_seconds",
                              kCounter,
                              "seconds",
                              "Total time of the steps that have ended.",
                              {}},
                             rows, [](const LoopRow& row) { return row.totals.step_s; }));
  metrics.push_back(of_loops({"stepscope_input_wait_seconds",
                              kCounter,
                              "seconds",
                              "Step time that was spent waiting for input: the category input.",
                              {}},
                             rows, [](const LoopRow& row) {
                               return row.totals.category_s[static_cast<int>(Category::kInput)];
                             }));
  metrics.push_back(
      split_by("category",
               {"stepscope_category_seconds",
                kCounter,
                "seconds",
                "Step time by category (exposed time); the categories sum to the step time.",
                {}},
               rows, category_at, [](const LoopRow& row) { return row.totals.category_s; }));
  metrics.push_back(split_by(
      "phase",
      {"stepscope_phase_seconds",
       kCounter,
       "seconds",
       "Step time by phase of the loop thread; the phases sum to the step time.",
       {}},
      rows, [](std::size_t i) { return kPhaseNames[i]; },
      [](const LoopRow& row) { return row.totals.phase_s; }));
}

void add_step_times(Metrics& metrics, const std::vector<LoopRow>& rows) {
  const auto add = [&](const char* name, const char* what, const auto& of) {
    metrics.push_back(of_loops({name, MetricType::kGauge, "seconds", what, {}}, rows,
                               [&](const LoopRow& row) { return to_seconds(of(*row.report)); }));
  };
  add("stepscope_step_seconds", "Mean time of the latest steps.",
      [](const LoopReport& loop) { return static_cast<double>(loop.wall.mean); });
  add("stepscope_step_p50_seconds", "Median time of the latest steps.",
      [](const LoopReport& loop) { return static_cast<double>(loop.wall.p50); });
  add("stepscope_step_p90_seconds", "90th percentile of the time of the latest steps.",
      [](const LoopReport& loop) { return static_cast<double>(loop.wall.p90); });
  add("stepscope_step_max_seconds", "Time of the slowest of the latest steps.",
      [](const LoopReport& loop) { return static_cast<double>(loop.wall.max); });
}

// Each category has its own metric, not a label: W&B and others that chart a metric as one line
// would number the labels.
void add_shares(Metrics& metrics, const std::vector<LoopRow>& rows) {
  const auto add = [&](const std::string& name, const std::string& what, const auto& of) {
    metrics.push_back(of_loops(
        {"stepscope_" + name + "_ratio", MetricType::kGauge, "ratio", what + ", from 0 to 1.", {}},
        rows, of));
  };
  for (int i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    const std::string name = category_name(category);
    add(name, "Share of the category " + name + " in the time of the latest steps",
        [category](const LoopRow& row) { return share_of(row.report->shares, category); });
  }
  add("starved", "Share of the time of the latest steps that was lost because threads had no core",
      [](const LoopRow& row) -> std::optional<double> {
        if (!row.report->starvation.known) return std::nullopt;
        return row.report->starvation.share;
      });
  add("memory_pressure", "Share of the time of the latest steps that was lost to memory pressure",
      [](const LoopRow& row) { return row.report->memory.share; });
}

void add_verdicts(Metrics& metrics, const std::vector<LoopRow>& rows) {
  MetricFamily verdict{"stepscope_verdict",
                       MetricType::kGauge,
                       "",
                       "What bounds the latest steps: 1 for the current verdict.",
                       {}};
  for (const LoopRow& row : rows) {
    const LoopVerdict& of = row.report->verdict;
    verdict.points.push_back({with(row.labels, {{"kind", of.kind}, {"degree", of.degree}}), 1});
  }
  metrics.push_back(std::move(verdict));
  metrics.push_back(of_loops({"stepscope_window_steps",
                              MetricType::kGauge,
                              "",
                              "Number of the latest steps that the gauges of the loop describe.",
                              {}},
                             rows, [](const LoopRow& row) { return row.report->analysed.size(); }));
  metrics.push_back(of_loops({"stepscope_recording_ratio",
                              MetricType::kGauge,
                              "ratio",
                              "Share of the run's time that recording ops cost.",
                              {}},
                             rows,
                             [](const LoopRow& row) { return row.report->recording.run_share; }));
}

void add_devices(Metrics& metrics, const LiveFrame& frame, const std::vector<LoopRow>& rows) {
  MetricFamily busy{"stepscope_device_busy_ratio",
                    MetricType::kGauge,
                    "ratio",
                    "Share of the time of the latest steps in which the device ran kernels.",
                    {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const DeviceUtilization& use : frame.window.utilizations) {
      const bool same = use.thread == frame.loops[i].thread && use.device == rows[i].report->device;
      if (!same || use.span.count() <= 0) continue;
      busy.points.push_back({rows[i].labels, static_cast<double>(use.kernel.count()) /
                                                 static_cast<double>(use.span.count())});
    }
  }
  metrics.push_back(std::move(busy));
}

void add_memory(Metrics& metrics, const LiveFrame& frame, const Labels& run) {
  const auto rank_of = [&](std::int64_t pid) {
    const auto& all = frame.window.processes;
    const auto found = std::find_if(all.begin(), all.end(),
                                    [pid](const ProcessReport& one) { return one.pid == pid; });
    return found == all.end() ? "" : number_or_nothing(found->rank);
  };
  const auto add = [&](const char* name, const char* what,
                       std::optional<std::int64_t> LiveMemory::* of) {
    MetricFamily family{name, MetricType::kGauge, "bytes", what, {}};
    for (const LiveMemory& memory : frame.memory) {
      if (!(memory.*of)) continue;
      family.points.push_back(
          {with(run, {{"rank", rank_of(memory.pid)}, {"pid", std::to_string(memory.pid)}}),
           static_cast<double>(*(memory.*of))});
    }
    metrics.push_back(std::move(family));
  };
  add("stepscope_resident_memory_bytes", "Resident memory of a process.", &LiveMemory::rss_bytes);
  add("stepscope_tensor_memory_bytes", "Memory of CPU tensors in a process.",
      &LiveMemory::tensor_bytes);
  add("stepscope_device_memory_allocated_bytes", "Device memory that tensors of a process use.",
      &LiveMemory::device_allocated_bytes);
  add("stepscope_device_memory_reserved_bytes",
      "Device memory that the allocator of a process holds.", &LiveMemory::device_reserved_bytes);
  if (!frame.memory_available_bytes) return;
  metrics.push_back({"stepscope_machine_memory_available_bytes",
                     MetricType::kGauge,
                     "bytes",
                     "Memory that the machine has available.",
                     {{run, static_cast<double>(*frame.memory_available_bytes)}}});
}

}  // namespace

MetricFamily RunMetrics::info(const RunFacts& facts) const {
  const Labels labels = with(identity_.labels(), {{"program", facts.program},
                                                  {"torch_version", facts.torch_version},
                                                  {"stepscope_version", version_}});
  return {"stepscope_run",
          MetricType::kGauge,
          "",
          "The run that is being recorded; always 1.",
          {{labels, 1}}};
}

Metrics RunMetrics::update(const LiveFrame& frame, double now_unix_s) {
  totals_.add(frame);
  lost_ = std::max(lost_, frame.window.lost());
  const Labels run = identity_.labels();
  const std::vector<LoopRow> rows = rows_of(frame, totals_, run);
  Metrics metrics{info(frame.window.run)};
  add_totals(metrics, rows);
  add_step_times(metrics, rows);
  add_shares(metrics, rows);
  add_verdicts(metrics, rows);
  add_devices(metrics, frame, rows);
  add_memory(metrics, frame, run);
  metrics.push_back({"stepscope_ops",
                     MetricType::kCounter,
                     "",
                     "Ops that were recorded.",
                     {{run, static_cast<double>(frame.op_count)}}});
  metrics.push_back({"stepscope_lost_events",
                     MetricType::kCounter,
                     "",
                     "Events that could not be recorded.",
                     {{run, static_cast<double>(lost_)}}});
  metrics.push_back(
      {"stepscope_recording_stopped",
       MetricType::kGauge,
       "",
       "1 if recording stopped although the program goes on, for example because a disk is "
       "full; else 0.",
       {{run, frame.window.run.stopped_because.empty() ? 0.0 : 1.0}}});
  metrics.push_back({"stepscope_updated_timestamp_seconds",
                     MetricType::kGauge,
                     "seconds",
                     "When these values were computed, in seconds since 1970.",
                     {{run, now_unix_s}}});
  return metrics;
}

}  // namespace stepscope
