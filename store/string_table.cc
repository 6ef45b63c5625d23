#include "store/string_table.h"

#include <utility>

#include "store/utf8.h"

namespace stepscope {

Status StringTable::load(Database& database) {
  Result<Statement> insert = database.prepare("INSERT INTO string(id, text) VALUES (?1, ?2)");
  if (!insert.ok()) return insert.status();
  insert_ = std::move(*insert);
  Result<Statement> rows = database.prepare("SELECT id, text FROM string");
  if (!rows.ok()) return rows.status();
  while (true) {
    const Result<bool> row = rows->next();
    if (!row.ok()) return row.status();
    if (!*row) return {};
    ids_.emplace(rows->text(1), static_cast<StringId>(rows->integer(0)));
  }
}

StringId StringTable::find(std::string_view text) const {
  const auto known = ids_.find(text);
  return known != ids_.end() ? known->second : StringId::kNone;
}

StringId StringTable::intern(std::string_view text, Status& status) {
  if (text.empty()) return StringId::kNone;
  if (const StringId id = find(text); id != StringId::kNone) return id;
  if (is_clean_utf8(text)) return add(text, status);
  const std::string clean = clean_utf8(text);
  const StringId id = find(clean);
  return id != StringId::kNone ? id : add(clean, status);
}

StringId StringTable::add(std::string_view text, Status& status) {
  const auto id = static_cast<StringId>(ids_.size() + 1);
  ids_.emplace(text, id);
  status = insert_.run(static_cast<std::int64_t>(id), text);
  return id;
}

}  // namespace stepscope
