#include "viewer-export/serve/ui_files.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "viewer-export/serve/run_server.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;

constexpr std::pair<std::string_view, const char*> kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".wasm", "application/wasm"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".woff2", "font/woff2"},
};

const char* type_of(const fs::path& file) {
  const std::string extension = file.extension().string();
  for (const auto& [ending, type] : kTypes) {
    if (extension == ending) return type;
  }
  return "application/octet-stream";
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end();
}

}  // namespace

std::optional<UiFile> read_ui_file(const fs::path& folder, std::string_view path) {
  if (folder.empty() || path.empty() || path.find('\0') != std::string_view::npos) return {};
  std::error_code code;
  const fs::path root = fs::canonical(folder, code);
  if (code) return std::nullopt;
  const fs::path file = fs::canonical(root / fs::path(path).relative_path(), code);
  if (code || !lies_in(file, root) || !fs::is_regular_file(file, code)) return std::nullopt;
  if (file.filename() == "service_worker.js") return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  return UiFile{{std::istreambuf_iterator<char>(stream), {}}, type_of(file)};
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) < 4)) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return encoded;
}

std::string origin_of(const std::string& address) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!address.starts_with(scheme)) continue;
    const std::string origin = address.substr(0, address.find_first_of("/?#", scheme.size()));
    const std::string_view host = std::string_view(origin).substr(scheme.size());
    const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("-.:[]").find(c) != std::string_view::npos;
    });
    return plain && !host.empty() ? origin : "";
  }
  return "";
}

}  // namespace stepscope
