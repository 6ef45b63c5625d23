#include "present/path_argument.h"

#include "analyzer/printable.h"
#include "store/shell_word.h"

namespace stepscope {

std::string path_argument(const std::string& path) {
  return printable(shell_word(path.starts_with('-') ? "./" + path : path));
}

}  // namespace stepscope
