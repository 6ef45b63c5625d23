#include "present/manual/man_page.h"

#include <sstream>
#include <string_view>

namespace stepscope {
namespace {

// Escapes text for troff, so that dashes can be copied and no line is taken for a request.
std::string escaped(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_line_start = c == '\n';
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

void write_option(std::ostream& out, const DescribedOption& option) {
  out << ".TP\n";
  for (std::size_t i = 0; i < option.names.size(); ++i) {
    out << (i == 0 ? "" : ", ") << "\\fB" << escaped(option.names[i]) << "\\fR";
  }
  if (!option.value.empty() && !option.is_positional) {
    std::string value = option.value;
    for (std::size_t i = 0; i < option.choices.size(); ++i) {
      value = (i == 0 ? "" : value + "|") + option.choices[i];
    }
    out << " \\fI" << escaped(value) << "\\fR";
  }
  out << "\n" << escaped(option.text);
  if (!option.default_value.empty()) out << " (" << escaped(option.default_value) << ")";
  out << "\n";
}

void write_options(std::ostream& out, const DescribedVerb& verb) {
  for (const DescribedOption& option : verb.options) write_option(out, option);
}

// Keeps the layout of the footer.
void write_footer(std::ostream& out, const std::string& footer) {
  if (!footer.empty()) out << ".PP\n.nf\n" << escaped(footer) << "\n.fi\n";
}

}  // namespace

std::string man_page(const DescribedProgram& program, const std::string& version) {
  std::ostringstream out;
  const std::string name = program.itself.name;
  out << ".TH " << upper(name) << " 1 \"\" \"" << name << " " << version << "\"\n"
      << ".SH NAME\n"
      << name << " \\- " << escaped("training-step profiler and trace analyzer for PyTorch") << "\n"
      << ".SH SYNOPSIS\n.B " << name << "\n[\\fIOPTIONS\\fR] \\fIVERB\\fR ...\n"
      << ".SH DESCRIPTION\n"
      << escaped(program.itself.text) << "\n.SH OPTIONS\n";
  write_options(out, program.itself);
  out << ".SH VERBS\n";
  for (const DescribedVerb& verb : program.verbs) {
    out << ".SS " << name << " " << escaped(verb.name) << "\n" << escaped(verb.text) << "\n";
    write_options(out, verb);
    write_footer(out, verb.footer);
  }
  out << ".SH EXAMPLES\n";
  write_footer(out, program.itself.footer);
  return out.str();
}

}  // namespace stepscope
