#include "present/segment_words.h"

#include "analyzer/words.h"

namespace stepscope {

const char* segment_words(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kEvaluation:
      return "evaluation";
    case SegmentKind::kCheckpoint:
      return "checkpoints";
    case SegmentKind::kBetweenEpochs:
      return "between epochs";
  }
  return "evaluation";
}

std::string segments_sentence(const RunUse& use) {
  std::string text;
  for (const SegmentUse& segment : use.segments) {
    if (segment.run_share < kSegmentJudged) continue;
    const std::string share = percent_text(segment.run_share) + " of the run";
    if (!text.empty()) text += " ";
    switch (segment.kind) {
      case SegmentKind::kEvaluation:
        text += "Evaluation takes " + share;
        break;
      case SegmentKind::kCheckpoint:
        text += "Checkpoints take " + share;
        break;
      case SegmentKind::kBetweenEpochs:
        text += "The time between epochs is " + share;
        break;
    }
    if (!segment.bottleneck.kind.empty()) {
      text += " and is " + segment.bottleneck.degree + " input-bound: it waits for input for " +
              percent_text(segment.bottleneck.share) + " of its time";
    }
    text += ".";
  }
  return text;
}

}  // namespace stepscope
