// The verbs and options of the program as data. The manual page and the completion scripts of the
// shells are made from it.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct DescribedOption {
  std::vector<std::string> names;  // "-o", "--output"; a positional has one, without dashes
  std::string value;               // the type of its value, "TEXT"; empty: it takes none
  std::vector<std::string> choices;
  std::string default_value;
  std::string text;
  bool is_positional = false;
};

struct DescribedVerb {
  std::string name;
  std::string text;
  std::string footer;
  std::vector<DescribedOption> options;
};

struct DescribedProgram {
  DescribedVerb itself;
  std::vector<DescribedVerb> verbs;
};

}  // namespace stepscope
