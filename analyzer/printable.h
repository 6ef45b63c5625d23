// Makes text from a run, a path or a program safe to show to a person.
//
// Names may contain any character. Terminals interpret some of them (C0 and C1 controls begin
// escape sequences); others are invisible or reorder the text around them, so that a line is
// misread (bidirectional controls, zero-width spaces). None of these is shown unchanged:
//
// - Unicode's general categories Cc (controls), Zl and Zp (separators of lines and paragraphs);
// - its property Default_Ignorable_Code_Point, which holds all bidirectional controls (Unicode
//   Standard Annex #44, DerivedCoreProperties.txt of Unicode 15);
// - U+FFF9 to U+FFFB (interlinear annotation).
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// Replaces each such character by "?", and invalid UTF-8 (lone bytes, overlong forms) by U+FFFD.
// The result is valid UTF-8, on one line.
std::string printable(std::string_view text);

// Writes such characters in a JSON document as \u escapes, which leaves the values unchanged.
// Spaces and line ends between the values stay. `document` has no such characters outside strings.
std::string printable_json(std::string_view document);

}  // namespace stepscope
