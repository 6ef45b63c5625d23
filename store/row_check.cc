#include "store/row_check.h"

namespace stepscope {

Status RowCheck::status(const Database& database) const {
  return Status::error(ErrorKind::kBadInput, database.path().string() + ": damaged (" + wrong_ +
                                                 "); use another copy or record again");
}

void RowCheck::fail(const std::string& what, std::int64_t row) {
  if (wrong_.empty()) wrong_ = std::string(table_) + " " + std::to_string(row) + " " + what;
}

std::int64_t RowCheck::not_an_integer(sqlite3_value* value, const char* column) {
  fail(std::string("has no integer as its ") + column +
       (sqlite3_value_type(value) == SQLITE_NULL ? ", but NULL" : ""));
  return 0;
}

std::int64_t RowCheck::out_of_range(std::int64_t number, const char* column) {
  const bool id = std::string_view(column).ends_with("_id");
  fail("has " + std::to_string(number) + " as its " + column +
       (id ? ", but there is no such row" : ", which is out of range"));
  return 0;
}

std::int64_t RowCheck::too_much(const char* column) {
  fail(std::string("and those before it exceed the limit for the sum of ") + column);
  return 0;
}

}  // namespace stepscope
