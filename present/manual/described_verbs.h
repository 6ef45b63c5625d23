// The verbs and options of the program as data, for what is made of them beside --help: the manual
// page, and what completes the command line in shells.
#pragma once

#include <string>
#include <vector>

namespace stepscope {

struct DescribedOption {
  std::vector<std::string> names;  // "-o", "--output"; a positional has one, without dashes
  std::string value;               // what it takes, "TEXT"; empty: nothing
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
