#include "viewer-export/sample_tracks.h"

#include <string_view>

namespace stepscope {
namespace {

// The unit of a counter in the trace, and the factor that converts its values to `unit`.
struct Drawing {
  const char* unit = "";
  double scale = 1;
};

Drawing drawing_of(const Counter& counter) {
  const bool total = counter.kind == CounterKind::kTotal;
  switch (counter.unit) {
    case CounterUnit::kBytes:
      return {total ? "MB/s" : "MB", 1e-6};
    case CounterUnit::kCount:
      return {total ? "per second" : "count", 1};
    case CounterUnit::kNanoseconds:  // of CPU time a second: cores
      return {"cores", 1e-9};
    case CounterUnit::kMicroseconds:  // of each second
      return {"%", 1e-4};
    case CounterUnit::kPercent:
      return {"%", 1};
    case CounterUnit::kMilliwatts:
      return {"W", 1e-3};
    case CounterUnit::kMegahertz:
      return {"MHz", 1};
    case CounterUnit::kCelsius:
      return {"°C", 1};
    case CounterUnit::kMillicores:
      return {"cores", 1e-3};
  }
  return {};
}

// "Memory held", "GPU 0 utilisation"
std::string title_of(const Counter& counter, std::int64_t gpu) {
  std::string title = counter.what;
  if (gpu >= 0) return "GPU " + std::to_string(gpu) + " " + title;
  if (title[0] >= 'a' && title[0] <= 'z') title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

}  // namespace

SampleTracks::Series& SampleTracks::series_of(const Sample& sample) {
  const auto [it, added] = series_.try_emplace({sample.process, sample.counter, sample.gpu});
  Series& series = it->second;
  if (!added) return series;
  series.pid = tracks_.pid_of(sample.process);
  series.name = reader_.text(sample.counter);
  if (const Counter* counter = find_counter(series.name)) {
    const Drawing drawing = drawing_of(*counter);
    series.name = title_of(*counter, sample.gpu);
    series.unit = drawing.unit;
    series.scale = drawing.scale;
    series.total = counter->kind == CounterKind::kTotal;
  }
  return series;
}

// The rate between two readings is drawn from the first to the second.
void SampleTracks::add_to_total(Series& series, const Sample& sample) {
  if (!series.last) return;
  const SessionTime from = series.last->at;
  const double seconds = static_cast<double>(to_ns(sample.at - from)) / 1e9;
  if (cut_.has(from) && seconds > 0) {
    const double grown = static_cast<double>(sample.value - series.last->value);
    writer_.counter(series.pid, series.name, series.unit, from, series.scale * grown / seconds);
    series.drawn = true;
  } else if (series.drawn) {
    writer_.counter(series.pid, series.name, series.unit, from, 0);
    series.drawn = false;
  }
}

void SampleTracks::add(const Sample& sample) {
  if (to_ns(sample.at) < 0) return;
  Series& series = series_of(sample);
  if (series.total) {
    add_to_total(series, sample);
  } else if (cut_.has(sample.at)) {
    writer_.counter(series.pid, series.name, series.unit, sample.at,
                    series.scale * static_cast<double>(sample.value));
  }
  series.last = sample;
}

Status SampleTracks::write() {
  const Status status = reader_.for_each_sample([this](const Sample& sample) {
    add(sample);
    return writer_.status().ok();
  });
  for (const auto& [key, series] : series_) {
    if (series.drawn) writer_.counter(series.pid, series.name, series.unit, series.last->at, 0);
  }
  return status;
}

Result<bool> has_machine_samples(const TraceReader& reader) {
  bool found = false;
  const Status status = reader.for_each_sample([&found](const Sample& sample) {
    found = sample.process == ProcessId::kNone;
    return !found;
  });
  if (!status.ok()) return status;
  return found;
}

}  // namespace stepscope
