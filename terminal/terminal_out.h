// All text of the program reaches standard output and standard error through this file: no other
// file prints (tests/project/check_tree.py), except for the pages that `-o -` writes.
//
// Names, paths and messages may contain anything, but nothing in them controls a terminal:
// analyzer/printable.h says what is replaced.
#pragma once

#include <cstdio>
#include <string_view>

#include "store/status.h"

namespace stepscope {

// Whether a descriptor is a terminal that knows colours and the codes that move its cursor. TERM is
// "dumb", or not set, where it does not: in an editor's shell, under expect.
bool takes_control_codes(int fd);

// Whether standard output is such a terminal and its user wants colours (https://no-color.org).
bool stdout_wants_color();

// Makes the lines of a page safe to print. Line ends and the colours of a Palette stay as they are.
std::string safe_page(std::string_view page);

// Prints lines of a page.
void print(std::FILE* file, std::string_view page);
// Prints one line and ends it.
void print_line(std::FILE* file, std::string_view line);

// Write all of it to standard output. Errors: kIo.
Status write_page(std::string_view page);
Status write_json(std::string_view document);

// Shows a line on standard error, a terminal, cut to its width. The next output overwrites it.
void show_status(std::string_view line);
void clear_status();

// The same at the right edge of the row below the cursor, which stays where it is.
void show_status_below(std::string_view line);
void clear_status_below();

// Moves to the next row of standard error, a terminal, unless the cursor is at the start of one.
void start_row();

}  // namespace stepscope
