// Draws counter readings as counters of a trace: a gauge as it is, a total as its rate per second,
// since the total itself would be a meaningless ramp.
//
// Thread safety: none. Memory: one reading for each process, counter and GPU.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "store/counters.h"
#include "store/trace_reader.h"
#include "viewer-export/cut.h"
#include "viewer-export/event_writer.h"
#include "viewer-export/track_map.h"

namespace stepscope {

class SampleTracks {
 public:
  // All must outlive this.
  SampleTracks(const TraceReader& reader, const Cut& cut, const TrackMap& tracks,
               EventWriter& writer)
      : reader_(reader), cut_(cut), tracks_(tracks), writer_(writer) {}

  // Reads and draws all readings.
  Status write();

 private:
  struct Series {
    std::int64_t pid = 0;
    std::string name;
    const char* unit = "";
    double scale = 1;
    bool total = false;
    std::optional<Sample> last;
    bool drawn = false;  // a rate stays until the next one
  };

  Series& series_of(const Sample& sample);
  void add(const Sample& sample);
  void add_to_total(Series& series, const Sample& sample);

  const TraceReader& reader_;
  const Cut& cut_;
  const TrackMap& tracks_;
  EventWriter& writer_;
  // The last: Sample::gpu.
  std::map<std::tuple<ProcessId, StringId, std::int64_t>, Series> series_;
};

// Whether the store has a counter of the machine.
Result<bool> has_machine_samples(const TraceReader& reader);

}  // namespace stepscope
