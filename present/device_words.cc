#include "present/device_words.h"

#include <algorithm>

#include "analyzer/words.h"

namespace stepscope {
namespace {

constexpr std::size_t kNameWidth = 48;  // names of kernels run to hundreds of characters

double per_step(const LoopReport& report, std::int64_t total) {
  const auto steps = std::max<std::size_t>(report.analysed.size(), 1);
  return static_cast<double>(total) / static_cast<double>(steps);
}

std::string shortened(std::string name) {
  if (name.size() <= kNameWidth) return name;
  std::size_t end = kNameWidth;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // whole letters
  return name.substr(0, end) + "…";
}

std::string kernels_reason(const LoopReport& report) {
  if (report.kernels.empty()) return "";
  const KernelRow& top = report.kernels.front();
  return "Most of it: " + shortened(top.name) + ", " + time_text(per_step(report, top.total_ns)) +
         in_units(" a step.", report.unit());
}

std::string launch_reason(const LoopReport& report) {
  std::int64_t kernels = 0;
  for (const KernelRow& row : report.kernels) kernels += row.calls;
  const auto each = static_cast<std::int64_t>(per_step(report, kernels) + 0.5);
  return "The host launches " + count_text(each) + (each == 1 ? " kernel" : " kernels") +
         in_units(" a step, later than the device could run them.", report.unit());
}

}  // namespace

const char* device_clause_of(Category category) {
  switch (category) {
    case Category::kCompute:
      return "of the step is device compute";
    case Category::kInput:
      return "of the step keeps the device waiting for input";
    case Category::kCopy:
      return "of the step is spent on copies alone";
    case Category::kCommunication:
      return "of the step is spent on communication alone";
    case Category::kSync:
      return "of the step leaves the device idle while the host waits for it";
    case Category::kLaunch:
      return "of the step keeps the device waiting for launches";
    case Category::kAllocation:
      return "of the step keeps the device waiting for memory allocation";
    case Category::kHost:
    case Category::kOther:
      return "of the step keeps the device waiting for code outside any op";
  }
  return "";
}

std::string device_reason(const LoopReport& report, Category category) {
  if (category == Category::kCompute) return kernels_reason(report);
  return category == Category::kLaunch ? launch_reason(report) : "";
}

}  // namespace stepscope
