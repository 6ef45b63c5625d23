#include "present/what_if_answer.h"

#include <cmath>
#include <utility>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/death_words.h"
#include "present/replay_words.h"

namespace stepscope {

Result<WhatIfAnswer> what_if(const RecordedRun& recording, const WhatIfQuestion& question) {
  auto report = analyze(recording, what_if_options(question));
  if (!report.ok()) return report.status();
  if (report->loops.empty()) return Status::error(ErrorKind::kBadInput, no_steps_text(*report));
  LoopReport& loop = report->loops.front();
  if (loop.replay.withheld != Withheld::kNothing && question.line.empty()) {
    return Status::error(ErrorKind::kBadInput,
                         "nothing can be predicted: " + withheld_text(loop.replay));
  }
  return answer_what_if(recording, std::move(loop), question);
}

Result<WhatIfAnswer> what_if(const TraceReader& reader, const WhatIfQuestion& question) {
  const auto recording = read_recording(reader);
  if (!recording.ok()) return recording.status();
  return what_if(*recording, question);
}

std::string what_if_note_text(const WhatIfNote& note) {
  if (!note.line) {
    const double left = std::round(note.cores_left * 10) / 10;
    const std::string cores = cores_text(static_cast<double>(note.cores));
    const bool alone = left >= static_cast<double>(note.cores);
    return "Training and input share " +
           (alone ? cores : mean_text(left) + " of " + cores + " (other programs use the rest)") +
           ", so a step takes " + (alone ? "at least " : "") + time_text(note.least_ns) +
           (alone ? "." : ", or less if they use less.");
  }
  const LineShare& line = *note.line;
  return printable(line.function) + " at " + printable(note.place) + " takes " +
         percent_text(line.share) + " of " +
         (line.place == LinePlace::kWorker ? "the time in which a batch is made"
                                           : "the " + line.category + " time") +
         ", according to " + count_text(line.samples) + " stack samples.";
}

}  // namespace stepscope
