// Small timelines of single steps: the slowest, the median and the fastest of a loop, and one of
// each other kind, with the activity of their threads and streams.
//
// Thread safety: none. Memory: that of the slices that are drawn, a few times over.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/trace_reader.h"
#include "viewer-export/report/report_loops.h"
#include "viewer-export/report/report_names.h"

namespace stepscope {

class StepPictures {
 public:
  // All must outlive this.
  StepPictures(const TraceReader& reader, const std::vector<ReportLoop>& loops, ReportNames& names);

  void add_op(const Op& op, ProcessId process);
  // Phases, API calls, kernels, copies and memsets: all but the ops.
  Status add_the_rest();

  // A list of pictures for each loop.
  [[nodiscard]] nlohmann::ordered_json json();

 private:
  enum class Track : std::uint8_t { kPhase, kScope, kOp, kCall, kKernel, kCopy, kMemset };
  struct Slice {
    Track track = Track::kOp;
    std::uint32_t row = 0;  // the thread, or the stream
    std::uint8_t depth = 0;
    PhaseKind phase = PhaseKind::kNone;
    std::int64_t name = 0;
    StringId id = StringId::kNone;  // of an op: `name` is set once it is sure to be drawn
    SessionTime start;
    Duration dur{0};
    std::int64_t count = 1;  // events: short neighbours are drawn as one
  };
  struct Picture {
    std::size_t loop = 0;
    std::string why;  // "slowest", "median", …
    const Step* step = nullptr;
    ProcessId process = ProcessId::kNone;
    TimeRange range;
    std::vector<Slice> slices;
    Duration resolution{0};     // shorter slices were merged with their neighbours
    std::int64_t left_out = 0;  // events that could neither be drawn nor merged
  };

  void choose(std::size_t loop, std::string why, const Step* step);
  void choose_steps(std::size_t loop);
  void choose_kinds(std::size_t loop);
  void add(ProcessId process, const Slice& slice);
  static bool joins(const Slice& before, const Slice& next, Duration resolution);
  static void sort_by_row(std::vector<Slice>& slices);
  static void join_short(Picture& picture, std::size_t most);
  static void leave_out_shortest(Picture& picture, std::size_t most);
  [[nodiscard]] nlohmann::ordered_json picture_json(Picture& picture);
  [[nodiscard]] nlohmann::ordered_json rows_json(const Picture& picture) const;

  const TraceReader& reader_;
  const std::vector<ReportLoop>& loops_;
  ReportNames& names_;
  std::vector<Picture> pictures_;
  std::map<StreamId, ProcessId> process_of_stream_;
  TimeRange all_{SessionTime::max(), SessionTime::min()};
  std::size_t slices_each_ = 0;
};

}  // namespace stepscope
