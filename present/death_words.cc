#include "present/death_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "analyzer/printable.h"
#include "analyzer/verdict/tensor_memory.h"
#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr double kMuchMore = 1.5;   // × the last reading: from here on the peak is reported too
constexpr double kMinShare = 0.05;  // of tensor memory: smaller parts are not listed
constexpr std::size_t kMaxDeathsReported = 4;  // if there is no loop to report

std::string who(const ProcessReport& process) {
  const std::string pid = std::to_string(process.pid);
  return process.rank >= 0 ? "Rank " + std::to_string(process.rank) + " (process " + pid + ")"
                           : "Process " + pid + " (" + printable(process.name) + ")";
}

std::string memory_clause(const ProcessReport& process) {
  if (process.rss_bytes <= 0) return "";
  std::string text = "; it held " + bytes_text(process.rss_bytes);
  // An exception frees memory as it unwinds, so the last reading may be far below the peak.
  if (process.rss_peak_bytes >= kMuchMore * process.rss_bytes)
    text += " (peak " + bytes_text(process.rss_peak_bytes) + ")";
  if (process.tensors && process.tensors->last.bytes > 0) {
    text += ", " + bytes_text(process.tensors->last.bytes) + " of it in tensors (" +
            owners_text(process.tensors->last) + ")";
  }
  if (process.grows) {
    text +=
        ", growing " + bytes_text(process.rss_growth_per_step) + in_units(" a step", process.unit);
  }
  return text;
}

std::string manner_of(const ProcessEnd& end) {
  if (end.out_of_memory) return "ran out of memory and was killed by the kernel";
  if (end.how == EndKind::kExit) return "ended with exit code " + std::to_string(end.code);
  return end.code == 0 ? "was killed" : "was killed by " + signal_name(end.code);
}

// "Its control group is limited to 64.0 MB; …." A sentence, or "".
std::string limits_sentence(const MemoryLimits& limits) {
  std::vector<std::string> parts;
  if (limits.group_bytes)
    parts.push_back("its control group is limited to " + bytes_text(*limits.group_bytes));
  if (limits.address_limit) {
    parts.push_back(
        "its address space is limited to " + bytes_text(*limits.address_limit) + " (ulimit -v)" +
        (limits.address_bytes ? " and reached " + bytes_text(*limits.address_bytes) : ""));
  }
  if (limits.available_bytes)
    parts.push_back("the machine had " + bytes_text(*limits.available_bytes) + " available");
  if (limits.oom_score)
    parts.push_back("its OOM score was " + count_text(std::llround(*limits.oom_score)) +
                    " of 1,000");
  std::string sentence;
  for (const std::string& part : parts) sentence += (sentence.empty() ? "" : "; ") + part;
  if (sentence.empty()) return "";
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence + ".";
}

// Where the main thread was, if stack samples of it were taken.
std::string main_thread_sentence(const ProcessReport& process) {
  const auto main = std::ranges::find(process.last_lines, process.pid, &LastLine::tid);
  if (main == process.last_lines.end()) return "";
  return " Its main thread was in " + printable(main->place) +
         (main->inside.empty() ? "" : " (" + printable(main->inside) + ")") + ".";
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : noun.ends_with("s") ? "es" : "s");
}

std::string why_no_steps(const AnalysisReport& report) {
  if (!report.no_steps.phases && report.op_count == 0)
    return "nothing was recorded: no ops and no phases.";
  std::string seen = counted(report.op_count, "op");
  const std::int64_t backward = report.no_steps.backward_passes;
  if (backward > 0) seen += " and " + counted(backward, "backward pass");
  return "no training step was seen (" + seen + " recorded)" +
         (report.op_count > 0 ? ", and no ops that compute anything repeat" : "") +
         ": call step(), wrap the loader with input(), or step an optimizer while recording.";
}

}  // namespace

std::string death_sentence(const ProcessReport& process) {
  const ProcessEnd& end = *process.end;
  std::string text = who(process) + " " + manner_of(end);
  if (process.after_step > 0)
    text += in_units(" after step ", process.unit) + std::to_string(process.after_step);
  else if (end.step > 0)
    text += in_units(" in step ", process.unit) + std::to_string(end.step);
  if (!process.died_in.empty())
    text +=
        ", in " + printable(process.died_in) + " on thread " + printable(process.died_in_thread);
  text += memory_clause(process) + ".";
  const std::string limits = process.of_memory ? limits_sentence(process.limits) : "";
  if (!limits.empty()) text += " " + limits;
  return text + main_thread_sentence(process);
}

std::vector<std::string> death_sentences(const AnalysisReport& report) {
  std::vector<std::string> sentences;
  for (const std::size_t i : report.deaths)
    sentences.push_back(death_sentence(report.processes[i]));
  return sentences;
}

std::string gap_sentence(const RunFacts& run) {
  if (!run.stopped_because.empty()) {
    return "The recording is incomplete: " + printable(run.stopped_because) + ".";
  }
  if (!run.cut_off) return {};
  return "The recording is incomplete: its recorder died or another program kept the store locked, "
         "and everything after " +
         time_text(static_cast<double>(run.duration_ns)) + " is missing.";
}

std::string no_steps_text(const AnalysisReport& report) {
  std::string text = why_no_steps(report);
  if (report.run.is_incomplete()) text = gap_sentence(report.run) + " Until then, " + text;
  const std::vector<std::string> deaths = death_sentences(report);
  for (std::size_t i = 0; i < std::min(kMaxDeathsReported, deaths.size()); ++i)
    text += " " + deaths[i];
  return text;
}

std::string owners_text(const HeldTensors& memory) {
  std::vector<std::pair<double, MemoryOwner>> owners;
  for (std::size_t i = 0; i < memory.by.size(); ++i) {
    if (memory.by[i] >= kMinShare * memory.bytes)
      owners.emplace_back(memory.by[i], static_cast<MemoryOwner>(i));
  }
  std::stable_sort(owners.begin(), owners.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [bytes, owner] : owners) {
    if (!text.empty()) text += ", ";
    text += std::string(owner_name(owner)) + " " + bytes_text(bytes);
  }
  return text;
}

}  // namespace stepscope
