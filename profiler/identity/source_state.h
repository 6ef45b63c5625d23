// The version of the program's source: the commit of the git repository that it lies in.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {

struct SourceState {
  std::filesystem::path root;  // of the working tree
  std::string commit;          // in full; empty: none yet, or unknown
  std::optional<bool> dirty;   // tracked files were changed since; nothing: unknown
};

// The root of the working tree that `folder` lies in; empty: none.
std::filesystem::path repository_of(const std::filesystem::path& folder);

// What the files of the repository say, without git: never whether it is dirty.
SourceState read_source_state(const std::filesystem::path& root);

// Whether `text` is the full name of a commit: 40 or 64 digits.
bool is_commit(const std::string& text);

// Rows of the store's `meta`: `git_root`, `git_commit`, `git_dirty`, those that are known.
std::vector<std::pair<std::string, std::string>> source_meta(const SourceState& state);

}  // namespace stepscope
