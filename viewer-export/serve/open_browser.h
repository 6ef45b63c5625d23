// Opens an address in the user's browser.
#pragma once

#include <filesystem>
#include <string>

#include "store/status.h"

namespace stepscope {

// By xdg-open, with a file in `folder`, private to the user, that leads to `address`: the arguments
// of a program can be read by every user of the machine, and whoever knows the address may read the
// run. The file stays. Errors: kUnavailable (no display, no xdg-open), kIo.
Status open_in_browser(const std::string& address, const std::filesystem::path& folder);

}  // namespace stepscope
