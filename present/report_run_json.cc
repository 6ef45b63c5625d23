#include "present/report_run_json.h"

#include <cmath>
#include <map>

#include "analyzer/verdict/tensor_memory.h"
#include "analyzer/words.h"
#include "present/death_words.h"
#include "present/json_value.h"
#include "store/loss_kinds.h"

namespace stepscope {
namespace {

Json bytes_or_null(const std::optional<double>& bytes) {
  return bytes ? Json(std::llround(*bytes)) : Json(nullptr);
}

Json limits_json(const MemoryLimits& limits) {
  return {{"memory_limit_bytes", bytes_or_null(limits.group_bytes)},
          {"address_space_bytes", bytes_or_null(limits.address_bytes)},
          {"address_space_limit_bytes", bytes_or_null(limits.address_limit)},
          {"memory_available_bytes", bytes_or_null(limits.available_bytes)},
          {"oom_score", bytes_or_null(limits.oom_score)}};
}

Json died_json(const ProcessReport& process) {
  if (!process.died) return nullptr;
  const ProcessEnd& end = *process.end;
  const bool killed = end.how == EndKind::kSignal;
  return {{"how", end.out_of_memory ? "out of memory"
                  : !killed         ? "exit"
                  : end.code > 0    ? signal_name(end.code)
                                    : "killed"},
          {"step", end.step > 0 ? Json(end.step) : Json(nullptr)},
          {"op", or_null(process.died_in)},
          {"thread", or_null(process.died_in_thread)},
          {"lines", last_lines_json(process.last_lines)},
          {"signal", killed && end.code > 0 ? Json(end.code) : Json(nullptr)},
          {"out_of_memory", end.out_of_memory},
          {"of_memory", process.of_memory},
          {"system", limits_json(process.limits)},
          {"at_ns", to_ns(end.at)},
          {"why", death_sentence(process)}};
}

Json tensors_json(const HeldTensors& memory) {
  Json by = Json::object();
  for (std::size_t i = 0; i < memory.by.size(); ++i)
    by[owner_name(static_cast<MemoryOwner>(i))] = std::llround(memory.by[i]);
  return {{"bytes", std::llround(memory.bytes)}, {"at_ns", to_ns(memory.at)}, {"by", by}};
}

// At the peak, and at the last reading.
Json tensors_json(const ProcessReport& process) {
  if (!process.tensors) return nullptr;
  Json peak = tensors_json(process.tensors->peak);
  peak["step"] = process.peak_step > 0 ? Json(process.peak_step) : Json(nullptr);
  return {{"peak", peak}, {"last", tensors_json(process.tensors->last)}};
}

Json process_json(const ProcessReport& process) {
  const bool exited = process.end && process.end->how == EndKind::kExit && process.end->code >= 0;
  const bool sampled = process.rss_bytes > 0;
  return {{"pid", process.pid},
          {"rank", rank_json(process.rank)},
          {"name", process.name},
          {"exit", exited ? Json(process.end->code) : Json(nullptr)},
          {"died", died_json(process)},
          {"rss_bytes", sampled ? Json(std::llround(process.rss_bytes)) : Json(nullptr)},
          {"rss_peak_bytes", sampled ? Json(std::llround(process.rss_peak_bytes)) : Json(nullptr)},
          {"rss_growth_per_step",
           sampled ? Json(std::llround(process.rss_growth_per_step)) : Json(nullptr)},
          {"tensors", tensors_json(process)}};
}

Json source_json(const SourceFacts& source) {
  if (source.root.empty()) return nullptr;
  return {{"root", source.root},
          {"commit", or_null(source.commit)},
          {"dirty", source.dirty ? Json(*source.dirty) : Json(nullptr)}};
}

// "NAME=VALUE" each. Others are skipped: a store may contain anything.
Json environment_json(const std::vector<std::string>& variables) {
  Json json = Json::object();
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos) json[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  return json;
}

}  // namespace

Json last_lines_json(const std::vector<LastLine>& lines) {
  Json json = Json::array();
  for (const LastLine& line : lines) {
    json.push_back({{"tid", line.tid},
                    {"thread", or_null(line.thread)},
                    {"place", line.place},
                    {"inside", or_null(line.inside)},
                    {"blocked", or_null(line.blocked)},
                    {"before_ns", line.before_ns}});
  }
  return json;
}

Json run_json(const AnalysisReport& report) {
  Json processes = Json::array();
  for (const ProcessReport& process : report.processes) {
    processes.push_back(process_json(process));
  }
  Json run = {{"name", or_null(report.run.program)},
              {"command", report.run.command},
              {"arguments", report.run.arguments},
              {"working_folder", or_null(report.run.working_folder)},
              {"git", source_json(report.run.source)},
              {"environment", environment_json(report.run.environment)},
              {"duration_ns", report.run.duration_ns},
              {"torch_version", or_null(report.run.torch_version)},
              {"python_version", or_null(report.run.python_version)},
              {"numpy_version", or_null(report.run.numpy_version)},
              {"cudnn_benchmark",
               report.run.cudnn_benchmark ? Json(*report.run.cudnn_benchmark) : Json(nullptr)},
              {"hosts", report.run.hosts},
              {"cpu_count", report.run.cpu_count > 0 ? Json(report.run.cpu_count) : Json(nullptr)},
              {"being_recorded", report.run.being_recorded},
              {"incomplete", or_null(gap_sentence(report.run))},
              {"ops", report.op_count},
              {"processes", processes}};
  if (report.processes_left_out > 0) run["processes_left_out"] = report.processes_left_out;
  if (report.loops_left_out > 0) run["loops_left_out"] = report.loops_left_out;
  return run;
}

Json losses_json(const AnalysisReport& report) {
  std::map<std::string, std::int64_t> kinds;
  std::int64_t events = 0, kernels = 0, samples = 0;
  for (const Loss& loss : report.losses) {
    kinds[loss.kind] += loss.count;
    if (!counts_events(loss)) continue;  // only by_kind has processes
    const bool kernel = loss.kind == "kernel" || loss.kind == kDeviceRecord;
    (kernel ? kernels : loss.kind == "sample" ? samples : events) += loss.count;
  }
  return {{"events", events}, {"kernels", kernels}, {"samples", samples}, {"by_kind", kinds}};
}

}  // namespace stepscope
