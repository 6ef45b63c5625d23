// The strings of a store, each with one id. Internal to store/.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/events.h"
#include "store/sqlite.h"
#include "store/status.h"

namespace stepscope {

// Appends the strings whose ids follow those of `texts`, [id - 1]. kBadInput when one is missing, or
// when there are more than a store may hold (limits.h).
Status load_strings(Database& database, std::vector<std::string>& texts);

class StringTable {
 public:
  // Ready to add to what the store holds already.
  Status load(Database& database);

  // The id of `text`, cleaned to valid UTF-8; a new one is inserted into the open transaction. An
  // error of that is left in `status`.
  StringId intern(std::string_view text, Status& status);
  // The id of a text that is there, else kNone. Looks up bytes as they are.
  [[nodiscard]] StringId find(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;  // look a string_view up without making a string of it
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  StringId add(std::string_view text, Status& status);

  std::unordered_map<std::string, StringId, Hash, std::equal_to<>> ids_;
  Statement insert_;
};

}  // namespace stepscope
