// How all JSON documents write values of the contract.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace stepscope {

using Json = nlohmann::ordered_json;

// null for "".
inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// null for a process without a rank.
inline Json rank_json(std::int64_t rank) { return rank >= 0 ? Json(rank) : Json(nullptr); }

// Indented, ending in a newline.
inline std::string document_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepscope
