#include "tests/source_folder.h"

namespace stepscope::testing {

std::filesystem::path source_folder() { return STEPSCOPE_SOURCE_DIR; }

}  // namespace stepscope::testing
