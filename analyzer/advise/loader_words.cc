#include "analyzer/advise/loader_words.h"

namespace stepscope {
namespace {

constexpr std::string_view kOpening = "DataLoader(";

}  // namespace

bool is_data_loader(std::string_view name) {
  return name.starts_with(kOpening) && name.ends_with(')');
}

std::optional<std::string_view> loader_option(std::string_view name, std::string_view option) {
  if (!is_data_loader(name)) return std::nullopt;
  std::string_view rest = name.substr(kOpening.size(), name.size() - kOpening.size() - 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(", ");
    const std::string_view one = rest.substr(0, comma);
    const std::size_t equals = one.find('=');
    if (equals != std::string_view::npos && one.substr(0, equals) == option)
      return one.substr(equals + 1);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 2);
  }
  return std::nullopt;
}

}  // namespace stepscope
