#include "viewer-export/stacks_summary.h"

#include <string>

namespace stepscope {

Status no_stack_samples(const TraceReader& reader, const Cut& cut) {
  if (cut.range) {
    return Status::error(ErrorKind::kBadInput, "no stack samples were taken in these steps");
  }
  const std::string note = reader.meta("lines_note").value_or("");
  return Status::error(ErrorKind::kBadInput,
                       "the store contains no stack samples: " +
                           (note.empty() ? "stepscope run takes them from Python and C++ "
                                           "programs, unless --no-lines is given"
                                         : note));
}

}  // namespace stepscope
