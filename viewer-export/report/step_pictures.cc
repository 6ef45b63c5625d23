#include "viewer-export/report/step_pictures.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "viewer-export/report/report.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxLoops = 8;
constexpr std::size_t kMaxSlices = 2'500;  // of one picture
constexpr std::size_t kHeld = 40'000;      // of one picture, before its short ones are joined
constexpr std::int64_t kFinestResolution = 4'000;  // of a step: finer than a screen's

TimeRange range_of(const Step& step) { return {step.start, step.end()}; }

bool overlap(const TimeRange& range, SessionTime start, Duration dur) {
  return start < range.end && start + dur > range.start;
}

std::string name_of(const StoredThread& thread) {
  return thread.name.empty() ? "thread " + std::to_string(thread.tid) : thread.name;
}

Json times_json(const Step& step, DeviceId device) {
  Json times = Json::array();
  for (const StepTime& time : step.times) {
    if (time.device != device || (to_ns(time.exposed) == 0 && to_ns(time.hidden) == 0)) continue;
    times.push_back({{"category", category_name(time.category)},
                     {"phase", phase_name(time.phase)},
                     {"label", time.label},
                     {"ns", to_ns(time.exposed)},
                     {"hidden_ns", to_ns(time.hidden)}});
  }
  return times;
}

}  // namespace

StepPictures::StepPictures(const TraceReader& reader, const std::vector<ReportLoop>& loops,
                           ReportNames& names)
    : reader_(reader), loops_(loops), names_(names) {
  for (std::size_t i = 0; i < std::min(loops.size(), kMaxLoops); ++i) {
    choose_steps(i);
    choose_kinds(i);
  }
  slices_each_ = std::min(kMaxSlices, kReportSlices / std::max<std::size_t>(pictures_.size(), 1));
  std::map<DeviceId, ProcessId> process_of_device;
  for (const StoredDevice& device : reader.devices()) process_of_device[device.id] = device.process;
  for (const StoredStream& stream : reader.streams()) {
    process_of_stream_[stream.id] = process_of_device[stream.device];
  }
}

void StepPictures::choose(std::size_t loop, std::string why, const Step* step) {
  for (const Picture& known : pictures_) {
    if (known.loop == loop && known.step == step) return;
  }
  const TimeRange range = range_of(*step);
  all_ = {std::min(all_.start, range.start), std::max(all_.end, range.end)};
  pictures_.push_back({loop, std::move(why), step, loops_[loop].process, range, {}, Duration(0)});
}

// Chooses from the steps whose ops were recorded, if there are any: the others have little to show.
void StepPictures::choose_steps(std::size_t loop) {
  std::vector<const Step*> steps;
  for (const Step* step : loops_[loop].analysed) {
    if (step->ops_recorded) steps.push_back(step);
  }
  if (steps.empty()) steps = loops_[loop].analysed;
  if (steps.empty()) return;
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step* a, const Step* b) { return a->dur > b->dur; });
  choose(loop, "slowest", steps.front());
  choose(loop, "median", steps[steps.size() / 2]);
  choose(loop, "fastest", steps.back());
  for (std::size_t i = 1; i < std::min<std::size_t>(3, steps.size()); ++i) {
    choose(loop, i == 1 ? "second slowest" : "third slowest", steps[i]);
  }
}

// Chooses the median step of each kind except the usual one.
void StepPictures::choose_kinds(std::size_t loop) {
  std::map<std::int64_t, std::vector<const Step*>> kinds;
  for (const Step* step : loops_[loop].analysed) {
    const std::int64_t number = kind_of(*step, loops_[loop].device)->population;
    if (number > 1) kinds[number].push_back(step);
  }
  for (auto& [number, steps] : kinds) {
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step* a, const Step* b) { return a->dur < b->dur; });
    choose(loop, "median of kind " + std::to_string(number), steps[steps.size() / 2]);
  }
}

void StepPictures::add(ProcessId process, const Slice& slice) {
  if (!overlap(all_, slice.start, slice.dur)) return;
  for (Picture& picture : pictures_) {
    if (picture.process != process || !overlap(picture.range, slice.start, slice.dur)) continue;
    picture.slices.push_back(slice);
    if (picture.slices.size() > kHeld) join_short(picture, kHeld / 2);
  }
}

void StepPictures::add_op(const Op& op, ProcessId process) {
  const Track track = op.scope == OpScope::kUser ? Track::kScope : Track::kOp;
  add(process, {track, static_cast<std::uint32_t>(op.thread), op.depth, op.phase, 0, op.name,
                op.start, op.dur, 1});
}

Status StepPictures::add_the_rest() {
  const auto phases = reader_.phases();
  if (!phases.ok()) return phases.status();
  const AnalysedTime time(reader_, loops_);
  for (const Phase& phase : *phases) {
    if (to_ns(phase.dur) == 0 || phase.kind == PhaseKind::kStep) continue;
    const std::string title =
        phase.name == StringId::kNone
            ? phase_name(phase.kind)
            : std::string(phase_name(phase.kind)) + ": " + std::string(reader_.text(phase.name));
    if (!overlap(all_, phase.start, phase.dur)) continue;
    add(time.process_of(phase.thread),
        {Track::kPhase, static_cast<std::uint32_t>(phase.thread), 0, phase.kind,
         names_.number(title), StringId::kNone, phase.start, phase.dur, 1});
  }
  Status status = reader_.for_each_api_call([&](const ApiCall& call) {
    add(time.process_of(call.thread), {Track::kCall, static_cast<std::uint32_t>(call.thread), 0,
                                       PhaseKind::kNone, 0, call.name, call.start, call.dur, 1});
  });
  const auto add_activity = [&](const Activity& activity, Track track, StringId id,
                                std::int64_t name) {
    add(process_of_stream_[activity.stream],
        {track, static_cast<std::uint32_t>(activity.stream), 0, PhaseKind::kNone, name, id,
         activity.start, activity.dur, 1});
  };
  if (status.ok()) {
    status = reader_.for_each_kernel(
        [&](const Kernel& kernel) { add_activity(kernel, Track::kKernel, kernel.name, 0); });
  }
  if (status.ok()) {
    status = reader_.for_each_copy([&](const Copy& copy) {
      add_activity(copy, Track::kCopy, StringId::kNone, names_.number(copy_kind_name(copy.kind)));
    });
  }
  if (status.ok()) {
    status = reader_.for_each_memset([&](const Memset& memset) {
      add_activity(memset, Track::kMemset, StringId::kNone, names_.number("memset"));
    });
  }
  return status;
}

bool StepPictures::joins(const Slice& before, const Slice& next, Duration resolution) {
  return before.track == next.track && before.row == next.row && before.depth == next.depth &&
         before.phase == next.phase && before.dur <= resolution && next.dur <= resolution &&
         next.start <= before.start + before.dur + resolution;
}

void StepPictures::sort_by_row(std::vector<Slice>& slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.track, a.row, a.depth, a.start) < std::tie(b.track, b.row, b.depth, b.start);
  });
}

// If short slices were left out, they would look like idle time. If they are joined, busy time
// still looks busy. The resolution is as fine as `most` slices allow.
void StepPictures::join_short(Picture& picture, std::size_t most) {
  std::vector<Slice>& slices = picture.slices;
  sort_by_row(slices);
  while (slices.size() > most && picture.resolution < picture.range.length()) {
    picture.resolution =
        std::max(2 * picture.resolution, picture.range.length() / kFinestResolution);
    std::vector<Slice> joined;
    for (const Slice& slice : slices) {
      if (joined.empty() || !joins(joined.back(), slice, picture.resolution)) {
        joined.push_back(slice);
        continue;
      }
      Slice& before = joined.back();
      before.dur = std::max(before.dur, slice.start + slice.dur - before.start);
      before.count += slice.count;
    }
    slices = std::move(joined);
  }
  leave_out_shortest(picture, most);
}

// Slices that overlap without being neighbours cannot be joined, such as tens of thousands of
// nested ops. Without this, each further slice would sort them all again.
void StepPictures::leave_out_shortest(Picture& picture, std::size_t most) {
  std::vector<Slice>& slices = picture.slices;
  if (slices.size() <= most) return;
  const auto end = slices.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(slices.begin(), end, slices.end(),
                   [](const Slice& a, const Slice& b) { return a.dur > b.dur; });
  for (auto slice = end; slice != slices.end(); ++slice) picture.left_out += slice->count;
  slices.erase(end, slices.end());
  sort_by_row(slices);
}

Json StepPictures::rows_json(const Picture& picture) const {
  std::set<std::pair<bool, std::uint32_t>> used;  // of a device?, the thread or stream
  for (const Slice& slice : picture.slices) used.emplace(slice.track >= Track::kKernel, slice.row);
  Json rows = Json::array();
  for (const StoredThread& thread : reader_.threads()) {
    const auto id = static_cast<std::uint32_t>(thread.id);
    if (!used.contains({false, id})) continue;
    rows.push_back({{"row", id},
                    {"device", false},
                    {"name", name_of(thread)},
                    {"loop", thread.id == picture.step->thread}});
  }
  std::map<DeviceId, std::int64_t> numbers;
  for (const StoredDevice& row : reader_.devices()) numbers[row.id] = row.number;
  for (const StoredStream& stream : reader_.streams()) {
    const auto id = static_cast<std::uint32_t>(stream.id);
    if (!used.contains({true, id})) continue;
    const std::int64_t device = numbers[stream.device];
    rows.push_back(
        {{"row", id},
         {"device", true},
         {"name", "GPU " + std::to_string(device) + ", stream " + std::to_string(stream.number)},
         {"loop", false}});
  }
  return rows;
}

Json StepPictures::picture_json(Picture& picture) {
  static constexpr const char* kTracks[] = {"phase",  "scope", "op",    "call",
                                            "kernel", "copy",  "memset"};
  join_short(picture, slices_each_);
  Json slices = Json::array();
  for (const Slice& slice : picture.slices) {
    const std::int64_t name = slice.id == StringId::kNone ? slice.name : names_.number(slice.id);
    slices.push_back({kTracks[static_cast<std::size_t>(slice.track)], slice.row, slice.depth,
                      to_ns(slice.start - picture.range.start), to_ns(slice.dur), name,
                      phase_name(slice.phase), slice.count});
  }
  return {{"why", picture.why},
          {"number", picture.step->number},
          {"start_ns", to_ns(picture.step->start)},
          {"wall_ns", to_ns(picture.step->dur)},
          {"span_ns", to_ns(picture.range.length())},  // with evaluation and checkpoints inside it
          {"ops_recorded", picture.step->ops_recorded},
          {"times", times_json(*picture.step, loops_[picture.loop].device)},
          {"rows", rows_json(picture)},
          {"slices", slices},
          {"resolution_ns", to_ns(picture.resolution)},
          {"left_out", picture.left_out}};
}

Json StepPictures::json() {
  Json lists = Json::array();
  for (std::size_t i = 0; i < loops_.size(); ++i) lists.push_back(Json::array());
  for (Picture& picture : pictures_) lists[picture.loop].push_back(picture_json(picture));
  return lists;
}

}  // namespace stepscope
