#include "viewer-export/report/tensor_owners.h"

#include <algorithm>
#include <cstddef>

#include "store/counters.h"
#include "viewer-export/report/report.h"
#include "viewer-export/report/thin_out.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOnCpu = "cpu_tensor_bytes_";
constexpr std::string_view kOnDevice = "device_tensor_bytes_";

// The phase of a counter of tensors; empty for any other counter.
std::string_view phase_of(std::string_view counter) {
  for (const std::string_view prefix : {kOnCpu, kOnDevice}) {
    // Only known phases, because each is a column of the whole history.
    if (counter.starts_with(prefix) && find_counter(counter) != nullptr)
      return counter.substr(prefix.size());
  }
  return {};
}

}  // namespace

void TensorOwners::add(const Sample& sample, std::string_view counter) {
  const std::string_view phase = phase_of(counter);
  if (phase.empty()) return;
  histories_[{sample.process, sample.gpu}].add(to_ns(sample.at), phase, sample.value);
}

void TensorOwners::History::add(std::int64_t moment, std::string_view phase, std::int64_t value) {
  if (at.empty() || at.back() != moment) at.push_back(moment);
  auto column = bytes.find(phase);
  if (column == bytes.end()) column = bytes.emplace(phase, std::vector<std::int64_t>()).first;
  column->second.resize(at.size());
  column->second.back() = value;
}

std::int64_t TensorOwners::History::bytes_at(std::string_view phase, std::size_t index) const {
  const auto& column = bytes.find(phase)->second;
  return index < column.size() ? column[index] : 0;
}

std::vector<std::int64_t> TensorOwners::History::sums() const {
  std::vector<std::int64_t> sums(at.size());
  for (const auto& [phase, column] : bytes) {
    for (std::size_t i = 0; i < column.size(); ++i) sums[i] += column[i];
  }
  return sums;
}

Json TensorOwners::History::moment_json(std::size_t index) const {
  Json json = Json::object();
  for (const auto& [phase, column] : bytes) json[phase] = bytes_at(phase, index);
  return json;
}

Json TensorOwners::History::json() const {
  const std::vector<std::int64_t> sums = this->sums();
  const auto peak =
      static_cast<std::size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  Json moments = Json::array(), columns = Json::object();
  for (const std::size_t i : thin_out(sums, kReportPoints)) {
    moments.push_back(at[i]);
    for (const auto& [phase, column] : bytes) columns[phase].push_back(bytes_at(phase, i));
  }
  return {{"samples", at.size()},      {"at_ns", moments},
          {"bytes", columns},          {"peak_at_ns", at[peak]},
          {"peak", moment_json(peak)}, {"last", moment_json(at.size() - 1)}};
}

Json TensorOwners::json() const {
  Json json = Json::array();
  for (const auto& [place, history] : histories_) {
    Json one = {{"process", static_cast<std::int64_t>(place.process)},
                {"gpu", place.gpu >= 0 ? Json(place.gpu) : Json(nullptr)}};
    one.update(history.json());
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace stepscope
