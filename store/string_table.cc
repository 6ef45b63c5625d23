#include "store/string_table.h"

#include <utility>

#include "store/limits.h"
#include "store/rows.h"
#include "store/utf8.h"

namespace stepscope {

namespace {

Status refuse(const Database& database, const std::string& what) {
  return Status::error(ErrorKind::kBadInput, database.path().string() + ": " + what);
}

}  // namespace

Status load_strings(Database& database, std::vector<std::string>& texts) {
  std::int64_t bytes = 0;
  for (const std::string& text : texts) bytes += static_cast<std::int64_t>(text.size());
  return for_each_row(
      database,
      "SELECT id, text FROM string WHERE id > " + std::to_string(texts.size()) + " ORDER BY id",
      [&](const Statement& row) {
        const auto id = static_cast<std::int64_t>(texts.size()) + 1;
        if (row.integer(0) != id) {
          return refuse(database, "damaged (string " + std::to_string(id) +
                                      " is missing); use another copy or record again");
        }
        texts.push_back(row.text(1));
        bytes += static_cast<std::int64_t>(texts.back().size());
        if (id <= kMaxStrings && bytes <= kMaxNameBytes) return Status();
        return refuse(database, "it has more than " + std::to_string(kMaxStrings) +
                                    " names, or more than " + std::to_string(kMaxNameBytes >> 20) +
                                    " MiB of them, which is more than a store may hold");
      });
}

Status StringTable::load(Database& database) {
  Result<Statement> insert = database.prepare("INSERT INTO string(id, text) VALUES (?1, ?2)");
  if (!insert.ok()) return insert.status();
  insert_ = std::move(*insert);
  std::vector<std::string> texts;
  if (Status status = load_strings(database, texts); !status.ok()) return status;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    bytes_ += texts[i].size() + kBytesBeside;
    ids_.emplace(std::move(texts[i]), static_cast<StringId>(i + 1));
  }
  return {};
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
  if (bytes_ + text.size() + kBytesBeside > most_bytes_) {
    ++merged_;
    if (const StringId id = find(kFurther); id != StringId::kNone) return id;
    text = kFurther;
  }
  bytes_ += text.size() + kBytesBeside;
  const auto id = static_cast<StringId>(ids_.size() + 1);
  ids_.emplace(text, id);
  status = insert_.run(static_cast<std::int64_t>(id), text);
  return id;
}

}  // namespace stepscope
