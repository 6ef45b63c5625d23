// Reads the text files of /proc; see proc(5).
//
// Nothing here throws, whatever a file contains and even if it is missing, except when memory runs
// out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// The whole file; "" if it cannot be read; only part of it if its process ends meanwhile.
std::string read_proc_file(const std::string& path);

// The words of `text`, which spaces and line ends separate.
std::vector<std::string_view> words_in(std::string_view text);

// The fields of a `stat` file of a process or thread (proc_pid_stat(5)) that come after the name,
// which may contain anything: its third field has index 0 here. Empty if `text` is not a stat file.
std::vector<std::string_view> stat_fields(std::string_view text);

// The number in the first run of digits; 0 if there is none.
std::int64_t number_in(std::string_view text);

// The number in the line that begins with `key`: 123 for "VmPeak:" and "VmPeak:   123 kB". Nothing
// if there is no such line, or if it has no number.
std::optional<std::int64_t> number_in_line(std::string_view text, std::string_view key);

}  // namespace stepscope
