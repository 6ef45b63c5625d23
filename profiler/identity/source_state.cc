#include "profiler/identity/source_state.h"

#include <algorithm>
#include <fstream>
#include <system_error>

namespace stepscope {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// "" unless `path` is a regular file: reading from a pipe could block.
std::string first_line(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  std::ifstream file(path);
  std::string line(4096, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  return line.substr(0, line.find_first_of("\r\n"));
}

// The text after `key` in a line that begins with it; else "".
std::string after(const std::string& line, const std::string& key) {
  return line.starts_with(key) ? line.substr(key.size()) : "";
}

// In a working tree made by `git worktree`, and in a submodule, .git is a file.
fs::path git_folder(const fs::path& root) {
  const fs::path git = root / ".git";
  std::error_code ignored;
  if (fs::is_directory(git, ignored)) return git;
  const std::string named = after(first_line(git), "gitdir: ");
  return named.empty() ? fs::path() : root / named;
}

// Looks `name` up in packed-refs, whose lines are "COMMIT NAME".
std::string packed_commit(const fs::path& folder, const std::string& name) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder / "packed-refs", ignored)) return {};
  std::ifstream file(folder / "packed-refs");
  for (std::string line; std::getline(file, line);) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos && line.substr(blank + 1) == name) return line.substr(0, blank);
  }
  return {};
}

std::string commit_of(const fs::path& git) {
  const std::string head = first_line(git / "HEAD");
  const std::string name = after(head, "ref: ");
  if (name.empty()) return head;
  const std::string common = first_line(git / "commondir");
  const fs::path shared = common.empty() ? git : git / common;
  for (const fs::path& folder : {git, shared}) {
    if (std::string commit = first_line(folder / name); !commit.empty()) return commit;
  }
  return packed_commit(shared, name);
}

}  // namespace

fs::path repository_of(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return {};
  while (true) {
    if (is_there(at / ".git")) return at;
    const fs::path parent = at.parent_path();
    if (parent == at || parent.empty()) return {};
    at = parent;
  }
}

SourceState read_source_state(const fs::path& root) {
  const fs::path git = git_folder(root);
  std::string commit = git.empty() ? "" : commit_of(git);
  if (!is_commit(commit)) commit.clear();
  return {root, commit, std::nullopt};
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::vector<std::pair<std::string, std::string>> source_meta(const SourceState& state) {
  std::vector<std::pair<std::string, std::string>> meta;
  if (!state.root.empty()) meta.emplace_back("git_root", state.root.string());
  if (!state.commit.empty()) meta.emplace_back("git_commit", state.commit);
  if (state.dirty) meta.emplace_back("git_dirty", *state.dirty ? "yes" : "no");
  return meta;
}

}  // namespace stepscope
