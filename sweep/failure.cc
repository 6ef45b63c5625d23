#include "sweep/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "analyzer/text_width.h"
#include "analyzer/words.h"
#include "store/events.h"

namespace stepscope {
namespace {

// What programs print when they run out of memory: C++, libtorch on CPU and GPUs, Python, the C
// library.
constexpr std::array<std::string_view, 10> kNoMemory = {
    "std::bad_alloc",   "can't allocate memory", "CUDA out of memory",     "out of memory",
    "OutOfMemoryError", "MemoryError",           "Cannot allocate memory", "failed to allocate",
    "bad allocation",   "unable to mmap"};

// If a process held this share of the available memory and was killed without another reason, it is
// taken to have run out of memory.
constexpr double kNearlyAll = 0.8;

constexpr std::size_t kWidth = 120;

std::string seconds_text(double seconds) { return fmt::format("{:.6g} s", seconds); }

std::string_view memory_words(std::string_view tail) {
  for (const std::string_view words : kNoMemory) {
    if (tail.find(words) != std::string_view::npos) return words;
  }
  return {};
}

std::string with_last_line(const std::string& cause, std::string_view tail) {
  const std::string line = last_line(tail, kWidth);
  return line.empty() ? cause : cause + ": " + line;
}

bool failed(const Ended& ended) { return ended.signal || ended.exit_code.value_or(0) != 0; }

Failure out_of_memory(const Ended& ended) {
  const std::string held =
      ended.peak_rss_bytes > 0
          ? " (it held " + bytes_text(static_cast<double>(ended.peak_rss_bytes)) + ")"
          : "";
  const bool near =
      ended.memory_bytes > 0 && static_cast<double>(ended.peak_rss_bytes) >=
                                    kNearlyAll * static_cast<double>(ended.memory_bytes);
  if (ended.killed_for_memory)
    return {SweepOutcome::kOutOfMemory, "killed by the kernel because memory ran out" + held};
  if (ended.signal == SIGKILL && near) {
    return {SweepOutcome::kOutOfMemory, "killed when it had used nearly all memory" + held};
  }
  const std::string_view words =
      failed(ended) ? memory_words(ended.error_tail) : std::string_view();
  if (words.empty()) return {};
  return {SweepOutcome::kOutOfMemory, "ran out of memory: " + std::string(words) + held};
}

}  // namespace

std::string last_line(std::string_view text, std::size_t width) {
  while (!text.empty()) {
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    const std::size_t begin = text.find_last_of("\r\n");
    const std::string_view line = begin == std::string_view::npos ? text : text.substr(begin + 1);
    // A line of the recorder does not say why the program ended.
    if (!line.starts_with("stepscope: ")) return cut(line, width);
    text = begin == std::string_view::npos ? std::string_view() : text.substr(0, begin);
  }
  return {};
}

Failure failure_of(const Ended& ended) {
  if (ended.timed_out) {
    return {SweepOutcome::kTimedOut, "took longer than " + seconds_text(ended.timeout_s)};
  }
  if (Failure memory = out_of_memory(ended); memory.outcome != SweepOutcome::kOk) return memory;
  if (ended.signal) {
    return {SweepOutcome::kCrashed,
            with_last_line("killed by " + signal_name(*ended.signal), ended.error_tail)};
  }
  if (ended.exit_code.value_or(0) == 0) return {};
  return {SweepOutcome::kCrashed,
          with_last_line("exit code " + std::to_string(*ended.exit_code), ended.error_tail)};
}

}  // namespace stepscope
