#include "present/replay_words.h"

#include "analyzer/words.h"

namespace stepscope {

std::string withheld_text(const ReplayReport& replay) {
  switch (replay.withheld) {
    case Withheld::kTooManyStreams:
      return "the device has more streams than can be replayed";
    case Withheld::kTooManyTasks:
      return "a step has more tasks than can be replayed";
    case Withheld::kNoSteps:
      return "no step can be replayed";
    case Withheld::kUnexplained:
      return "the recorded dependencies explain a step of " + time_text(replay.replayed_ns) +
             ", not the measured " + time_text(replay.measured_ns);
    case Withheld::kUnrepresentative:
      return "the steps that can be replayed are too unlike the other steps";
    case Withheld::kNothing:
      break;
  }
  return "";
}

}  // namespace stepscope
