#include "analyzer/advise/loader_words.h"

#include <algorithm>
#include <charconv>

namespace stepscope {
namespace {

constexpr std::string_view kOpening = "DataLoader(";
constexpr std::string_view kTrainer = "Trainer: ";

// The name of the loader alone.
std::string_view without_owner(std::string_view name) {
  return name.starts_with(kTrainer) ? name.substr(kTrainer.size()) : name;
}

}  // namespace

bool is_data_loader(std::string_view name) {
  return without_owner(name).starts_with(kOpening) && name.ends_with(')');
}

bool is_loader_of_trainer(std::string_view name) {
  return name.starts_with(kTrainer) && is_data_loader(name);
}

std::optional<std::string_view> loader_option(std::string_view name, std::string_view option) {
  if (!is_data_loader(name)) return std::nullopt;
  name = without_owner(name);
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

bool loads_without_workers(std::string_view name) {
  return is_data_loader(name) && !loader_option(name, "num_workers");
}

int worker_count(std::string_view name) {
  const auto text = loader_option(name, "num_workers").value_or("");
  int workers = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), workers);
  return error == std::errc() && end == text.data() + text.size() ? std::max(workers, 0) : 0;
}

}  // namespace stepscope
