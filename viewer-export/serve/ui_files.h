// The files of a Perfetto UI in a folder, as a browser requests them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

struct UiFile {
  std::string text;
  const char* type = "";  // for Content-Type
};

// `path` below `folder`, with / between its parts. Nothing unless it is a regular file in `folder`,
// after resolving ".." and links; nothing if `folder` is empty. Never serves a service worker: it
// would stay in the browser and answer for the next program on this port.
std::optional<UiFile> read_ui_file(const std::filesystem::path& folder, std::string_view path);

// "a b" as "a%20b": for a part of an address.
std::string percent_encoded(std::string_view text);

}  // namespace stepscope
