// Reads the text files of /proc; see proc(5).
//
// Whatever a file holds, and whether it is there, nothing throws but for a lack of memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// The whole file; "" where it cannot be read, less where its process ends meanwhile.
std::string read_proc_file(const std::string& path);

// Separated by spaces and line ends.
std::vector<std::string_view> words_in(std::string_view text);

// The fields of a process's or a thread's file `stat` (proc_pid_stat(5)) from the third on, which
// is 0 here: those after the name, which may hold anything. Empty where the text is none.
std::vector<std::string_view> stat_fields(std::string_view text);

// The first run of digits; 0 where there is none.
std::int64_t number_in(std::string_view text);

// The number in the line that begins with `key`: 123 for "VmPeak:" and "VmPeak:   123 kB". Nothing
// without such a line, or with one that holds no number.
std::optional<std::int64_t> number_in_line(std::string_view text, std::string_view key);

}  // namespace stepscope
