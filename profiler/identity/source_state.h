// The version of the program's source: the commit of the git repository that contains it.
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
  std::optional<bool> dirty;   // whether tracked files have changed since; nothing: unknown
};

// The root of the working tree that contains `folder`; empty: none.
std::filesystem::path repository_of(const std::filesystem::path& folder);

// Reads the repository's files, without running git. So `dirty` stays unknown.
SourceState read_source_state(const std::filesystem::path& root);

// Whether `text` is the full name of a commit: 40 or 64 digits.
bool is_commit(const std::string& text);

// The known ones of these rows of the store's `meta`: `git_root`, `git_commit`, `git_dirty`.
std::vector<std::pair<std::string, std::string>> source_meta(const SourceState& state);

}  // namespace stepscope
