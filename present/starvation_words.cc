#include "present/starvation_words.h"

#include <algorithm>
#include <cmath>

#include "analyzer/words.h"

namespace stepscope {

std::string taker_sentence(const CoreUse& cores) {
  switch (cores.taker) {
    case CoreTaker::kQuota:
      return "The CPU quota of its control group, " + cores_text(cores.quota) +
             ", held the program back for " + percent_text(std::min(cores.throttled, 1.0)) +
             " of the time.";
    case CoreTaker::kPinning:
      return "The threads are pinned to " + cores_text(static_cast<double>(cores.pinned_to)) +
             " while " + cores_text(cores.idle) + " stood idle.";
    case CoreTaker::kOwnThreads:
      return count_text(cores.own_busy) + " busy threads of the program share " +
             cores_text(cores.available) +
             (cores.others >= 0.2 ? ", of which other programs took " + cores_text(cores.others)
                                  : "") +
             ".";
    case CoreTaker::kOthers:
      if (cores.stolen > cores.others)
        return "The hypervisor gave " + cores_text(cores.stolen) + " to other machines.";
      if (cores.others >= cores.available) return "Other programs took its cores.";
      return "Other programs took " + mean_text(std::round(cores.others * 10) / 10) + " of the " +
             cores_text(cores.available) + ".";
    case CoreTaker::kUnknown:
      break;
  }
  return "";
}

}  // namespace stepscope
