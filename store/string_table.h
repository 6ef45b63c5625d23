// The strings of a store, each with one id. Internal to store/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/events.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Appends the strings whose ids follow those of `texts`, [id - 1]. kBadInput when one is missing,
// or when there are more than a store may hold (limits.h).
Status load_strings(Database& database, std::vector<std::string>& texts);

class StringTable {
 public:
  // The memory that a writer may use for strings, including kBytesBeside for each: enough for some
  // million names. A program that makes a new name in each step ("iter 12345") reaches this limit,
  // and every reader holds the strings too.
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  static constexpr std::size_t kBytesBeside = 100;
  static constexpr std::string_view kFurther = "(further names)";

  explicit StringTable(std::size_t most_bytes = kMaxBytes) : most_bytes_(most_bytes) {}

  // Loads the strings that the store already has. Call it before intern().
  Status load(Database& database);

  // The id of `text`, cleaned to valid UTF-8; a new one is inserted into the open transaction. If
  // that fails, `status` is set to the error. Once the strings take `most_bytes`, a new one gets
  // the id of kFurther.
  StringId intern(std::string_view text, Status& status);
  // The id of a text that the store has, else kNone. Does not clean `text`.
  [[nodiscard]] StringId find(std::string_view text) const;
  // How often intern() returned the id of kFurther since the last call of take_merged().
  std::int64_t take_merged() { return std::exchange(merged_, 0); }

 private:
  struct Hash {
    using is_transparent = void;  // look a string_view up without making a string of it
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  StringId add(std::string_view text, Status& status);

  const std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  std::int64_t merged_ = 0;
  std::unordered_map<std::string, StringId, Hash, std::equal_to<>> ids_;
  Statement insert_;
};

}  // namespace stepscope
