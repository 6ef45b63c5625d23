// The memory of tensors over time, by the phase in which they were allocated
// (the counters "cpu_tensor_bytes_forward" and the like, docs/schema.md).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "store/events.h"

namespace stepscope {

class TensorOwners {
 public:
  // The samples of one process must come in the order of time; those with the same time belong
  // together.
  // Ignores counters other than those of tensors by phase.
  void add(const Sample& sample, std::string_view counter);

  // [{"process", "gpu": null on the CPU, "samples", "at_ns", "bytes": {phase: a value for each of
  //   at_ns}, at most kReportPoints, the extremes of the sum kept; "peak_at_ns", "peak" and "last":
  //   {phase: bytes}}].
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  struct Place {
    ProcessId process = ProcessId::kNone;
    std::int64_t gpu = -1;  // Sample::gpu

    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct History {
    std::vector<std::int64_t> at;
    // By phase. A phase that has allocated nothing yet has no value: its column is shorter.
    std::map<std::string, std::vector<std::int64_t>, std::less<>> bytes;

    void add(std::int64_t moment, std::string_view phase, std::int64_t value);
    [[nodiscard]] std::int64_t bytes_at(std::string_view phase, std::size_t index) const;
    [[nodiscard]] std::vector<std::int64_t> sums() const;
    [[nodiscard]] nlohmann::ordered_json moment_json(std::size_t index) const;
    [[nodiscard]] nlohmann::ordered_json json() const;
  };

  std::map<Place, History> histories_;
};

}  // namespace stepscope
