// Text from a run, a path or a program, made fit to be shown to a person.
//
// Names may hold any character. Terminals obey some of them (C0 and C1 controls begin escape
// sequences), others have no picture or turn the text around them, so that a line seems to say
// what it does not (bidirectional controls, blanks without width). None of these goes out as it is:
//
// - Unicode's general categories Cc (controls), Zl and Zp (separators of lines and paragraphs);
// - its property Default_Ignorable_Code_Point, which holds all bidirectional controls (Unicode
//   Standard Annex #44, DerivedCoreProperties.txt of Unicode 15);
// - U+FFF9 to U+FFFB (interlinear annotation).
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// Each such character as "?", each part that is no UTF-8 (lone bytes, overlong forms) as U+FFFD.
// The result is valid UTF-8, on one line.
std::string printable(std::string_view text);

// A JSON document with such characters as \u escapes: another text, but the same values. Blanks
// and line ends between the values stay. `document` has no such characters outside of strings.
std::string printable_json(std::string_view document);

}  // namespace stepscope
