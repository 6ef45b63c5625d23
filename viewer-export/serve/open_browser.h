// Opens an address in the user's browser.
#pragma once

#include <filesystem>
#include <string>

#include "store/status.h"

namespace stepscope {

// Gives xdg-open a file in `folder`, private to the user, that redirects to `address`: every user
// of the machine can read the arguments of a program, and anyone who knows the address may read the
// run. The file stays. Errors: kUnavailable (no display, no xdg-open), kIo.
Status open_in_browser(const std::string& address, const std::filesystem::path& folder);

}  // namespace stepscope
