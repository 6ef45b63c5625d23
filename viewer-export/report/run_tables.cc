#include "viewer-export/report/run_tables.h"

#include <algorithm>
#include <set>

#include "viewer-export/report/report.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

// The rows in the order of `weight`, the largest first; at most kReportRows.
template <typename Map, typename Weight>
std::vector<typename Map::const_iterator> largest(const Map& rows, const Weight& weight) {
  std::vector<typename Map::const_iterator> order;
  for (auto row = rows.begin(); row != rows.end(); ++row) order.push_back(row);
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return weight(a->second) > weight(b->second); });
  if (order.size() > kReportRows) order.resize(kReportRows);
  return order;
}

}  // namespace

void RunTables::Row::add(Duration dur, Duration self) {
  ++calls;
  total_ns += to_ns(dur);
  self_ns += to_ns(self);
  min_ns = std::min(min_ns, to_ns(dur));
  max_ns = std::max(max_ns, to_ns(dur));
}

RunTables::RunTables(const TraceReader& reader, const Analysis& analysis, const AnalysedTime& time,
                     ReportNames& names)
    : reader_(reader), analysis_(analysis), time_(time), names_(names) {
  for (const StoredStream& stream : reader.streams()) device_of_[stream.id] = stream.device;
  for (const StoredDevice& device : reader.devices()) devices_[device.id] = device;
  for (const Occupancy& one : analysis.device_facts.occupancies) {
    occupancy_of_[{one.device, one.block_threads, one.registers, one.shared_bytes}] = one.occupancy;
  }
  for (const CopyOverlap& one : analysis.device_facts.overlaps) {
    beside_of_[one.copy] = to_ns(one.kernel);
  }
}

DeviceId RunTables::device_of(StreamId stream) const {
  const auto known = device_of_.find(stream);
  return known == device_of_.end() ? DeviceId::kNone : known->second;
}

bool RunTables::counts(const Activity& activity) const {
  const auto device = devices_.find(device_of(activity.stream));
  return device != devices_.end() && time_.holds(device->second.process, activity.start);
}

std::int64_t RunTables::add_activity(const Activity& activity) {
  const auto op = op_of_.find(activity.correlation);
  if (op == op_of_.end()) return 0;
  device_ns_[op->second] += to_ns(activity.dur);
  return op->second;
}

void RunTables::add_kernel(const Kernel& kernel) {
  const std::int64_t op = add_activity(kernel);
  if (!counts(kernel)) return;
  const DeviceId device = device_of(kernel.stream);
  Row& row = kernels_[{device, kernel_names_.row_name(kernel.name)}];
  if (to_ns(kernel.dur) >= row.max_ns) {
    row.longest_op = op;
    row.longest_at = kernel.start;
  }
  row.add(kernel.dur, kernel.dur);
  const auto& [x, y, z] = kernel.block;
  const auto known = occupancy_of_.find({device, std::int64_t{x} * y * z, kernel.registers,
                                         kernel.static_shared_bytes + kernel.dynamic_shared_bytes});
  if (known == occupancy_of_.end()) return;
  row.occupancy_ns += known->second * static_cast<double>(to_ns(kernel.dur));
}

void RunTables::add_copy(const Copy& copy, std::int64_t id) {
  add_activity(copy);
  if (!counts(copy)) return;
  Row& row = copies_[{device_of(copy.stream), copy.kind, copy.source, copy.target}];
  if (to_ns(copy.dur) >= row.max_ns) row.longest_at = copy.start;
  row.add(copy.dur, copy.dur);
  row.bytes += copy.bytes;
  const auto beside = beside_of_.find(id);
  if (beside != beside_of_.end()) row.beside_ns += beside->second;
}

Status RunTables::read_devices() {
  if (devices_.empty()) return {};
  std::int64_t id = 0;
  auto next = analysis_.call_ops.begin();
  Status status = reader_.for_each_api_call([&](const ApiCall& call) {
    ++id;
    while (next != analysis_.call_ops.end() && next->api_call < id) ++next;
    if (next == analysis_.call_ops.end() || next->api_call != id || call.correlation == 0) return;
    op_of_[call.correlation] = next->op;
  });
  if (status.ok()) {
    status = reader_.for_each_kernel([&](const Kernel& kernel) { add_kernel(kernel); });
  }
  std::int64_t copy_id = 0;
  if (status.ok()) {
    status = reader_.for_each_copy([&](const Copy& copy) { add_copy(copy, ++copy_id); });
  }
  if (status.ok()) {
    status = reader_.for_each_memset([&](const Memset& memset) { add_activity(memset); });
  }
  for (const auto& [key, row] : kernels_) name_of_op_[row.longest_op] = StringId::kNone;
  return status;
}

void RunTables::add_op(const Op& op, std::int64_t id) {
  if (!name_of_op_.empty()) {
    const auto asked = name_of_op_.find(id);
    if (asked != name_of_op_.end()) asked->second = op.name;
  }
  if (!time_.holds(op.thread, op.start)) return;
  const ProcessId process = time_.process_of(op.thread);
  const StringId name = op_names_.row_name(op.name);
  Row& row = ops_[{process, name, op.phase}];
  if (op.dur >= Duration(row.max_ns)) row.longest_at = op.start;
  row.add(op.dur, op.self);
  host_self_ns_ += to_ns(op.self);
  ++op_count_;
  const auto launched = device_ns_.empty() ? device_ns_.end() : device_ns_.find(id);
  const std::int64_t device = launched == device_ns_.end() ? 0 : launched->second;
  row.device_ns += device;
  device_self_ns_ += device;
  launching_ops_ += device > 0 ? 1 : 0;
  if (op.shapes == StringId::kNone) return;
  Row& shaped = shapes_[{process, name, shape_names_.row_name(op.shapes)}];
  shaped.add(op.dur, op.self);
  shaped.device_ns += device;
}

std::int64_t RunTables::number_of(StringId name, const TableNames& names) const {
  if (name != kFurtherNames) return names_.number(name);
  return names_.number("(" + std::to_string(names.merged()) + " further names)");
}

Json RunTables::ops_json() const {
  Json rows = Json::array();
  for (const auto& entry : largest(ops_, [](const Row& r) { return r.self_ns + r.device_ns; })) {
    const auto& [key, row] = *entry;
    rows.push_back({static_cast<std::int64_t>(std::get<0>(key)),
                    number_of(std::get<1>(key), op_names_), phase_name(std::get<2>(key)), row.calls,
                    row.total_ns, row.self_ns, row.device_ns, row.max_ns, to_ns(row.longest_at)});
  }
  return rows;
}

Json RunTables::shapes_json() const {
  Json rows = Json::array();
  for (const auto& entry : largest(shapes_, [](const Row& r) { return r.self_ns + r.device_ns; })) {
    const auto& [key, row] = *entry;
    rows.push_back({static_cast<std::int64_t>(std::get<0>(key)),
                    number_of(std::get<1>(key), op_names_),
                    number_of(std::get<2>(key), shape_names_), row.calls, row.total_ns, row.self_ns,
                    row.device_ns});
  }
  return rows;
}

Json RunTables::kernels_json() const {
  std::set<StringId> tensor_cores;
  for (const KernelName& kernel : analysis_.device_facts.kernel_names) {
    if (kernel.tensor_cores) tensor_cores.insert(kernel.name);
  }
  Json rows = Json::array();
  for (const auto& entry : largest(kernels_, [](const Row& r) { return r.total_ns; })) {
    const auto& [key, row] = *entry;
    const auto op = name_of_op_.find(row.longest_op);
    const bool known = op != name_of_op_.end() && op->second != StringId::kNone;
    rows.push_back({devices_.at(key.first).number, number_of(key.second, kernel_names_), row.calls,
                    row.total_ns, row.max_ns, to_ns(row.longest_at),
                    known ? Json(names_.number(op->second)) : Json(nullptr),
                    static_cast<std::int64_t>(devices_.at(key.first).process),
                    row.occupancy_ns > 0
                        ? Json(row.occupancy_ns / static_cast<double>(row.total_ns))
                        : Json(nullptr),
                    tensor_cores.contains(key.second)});
  }
  return rows;
}

Json RunTables::copies_json() const {
  Json rows = Json::array();
  for (const auto& entry : largest(copies_, [](const Row& r) { return r.total_ns; })) {
    const auto& [key, row] = *entry;
    const auto& [device, kind, source, target] = key;
    rows.push_back({devices_.at(device).number, copy_kind_name(kind), memory_kind_name(source),
                    memory_kind_name(target), row.calls, row.total_ns, row.bytes, row.max_ns,
                    to_ns(row.longest_at), static_cast<std::int64_t>(devices_.at(device).process),
                    row.beside_ns});
  }
  return rows;
}

Json RunTables::placement_json() const {
  return {{"ops", op_count_},
          {"host_self_ns", host_self_ns_},
          {"device_ns", devices_.empty() ? Json(nullptr) : Json(device_self_ns_)},
          {"launching_ops", launching_ops_}};
}

}  // namespace stepscope
