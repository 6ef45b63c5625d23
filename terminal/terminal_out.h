// The way of all text of the program to standard output and standard error: no other file prints
// (tests/project/check_tree.py), but for the pages that `-o -` asks for.
//
// Whatever names, paths and messages hold, no terminal obeys it: printable.h says what is replaced.
#pragma once

#include <cstdio>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// Standard output is a terminal, and its user wants colours there (https://no-color.org).
bool stdout_wants_color();

// Lines of a page: line ends and the colours of a Palette stay as they are.
std::string safe_page(std::string_view page);

// Prints lines of a page.
void print(std::FILE* file, std::string_view page);
// Prints one line, whose end it adds.
void print_line(std::FILE* file, std::string_view line);

// To standard output, all of it. Errors: kIo.
Status write_page(std::string_view page);
Status write_json(std::string_view document);

// A line of standard error, a terminal, that whatever comes next is written over.
void show_status(std::string_view line);
void clear_status();

}  // namespace stepscope
