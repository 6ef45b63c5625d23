#include "present/manual/completion.h"

#include <sstream>
#include <string_view>

#include "present/join.h"

namespace stepscope {
namespace {

std::string quoted(std::string_view text, std::string_view quote_inside) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += quote_inside;
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

std::vector<std::string> option_names(const DescribedVerb& verb) {
  std::vector<std::string> names;
  for (const DescribedOption& option : verb.options) {
    if (!option.is_positional) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// --- bash ----------------------------------------------------------------------------------------

void write_bash_verb(std::ostream& out, const std::string& pattern, const DescribedVerb& verb,
                     const std::vector<std::string>& more) {
  out << "    " << pattern << ")\n      case $previous in\n";
  for (const DescribedOption& option : verb.options) {
    if (option.value.empty() || option.is_positional) continue;
    out << "        " << join(option.names, "|") << ") words=" << "'" << join(option.choices, " ")
        << "' value=1 ;;\n";
  }
  std::vector<std::string> words = option_names(verb);
  words.insert(words.end(), more.begin(), more.end());
  out << "        *) words='" << join(words, " ") << "' ;;\n      esac ;;\n";
}

std::string bash(const DescribedProgram& program) {
  std::ostringstream out;
  out << "# bash completion of stepscope: stepscope --completion bash\n"
         "_stepscope() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local verb= words= value= i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
         "      ((i + 1 < COMP_CWORD)) || mapfile -t COMPREPLY < <(compgen -c -- \"$word\")\n"
         "      return\n"
         "    fi\n"
         "    [[ -n $verb || ${COMP_WORDS[i]} == -* ]] || verb=${COMP_WORDS[i]}\n"
         "  done\n"
         "  case $verb in\n";
  std::vector<std::string> verbs;
  for (const DescribedVerb& verb : program.verbs) verbs.push_back(verb.name);
  write_bash_verb(out, "''", program.itself, verbs);
  for (const DescribedVerb& verb : program.verbs) write_bash_verb(out, verb.name, verb, {});
  out << "  esac\n"
         "  # Where a file may be named, offer options only if the word begins with a dash.\n"
         "  [[ -n $verb && -z $value && $word != -* ]] ||\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _stepscope stepscope\n";
  return out.str();
}

// --- zsh -----------------------------------------------------------------------------------------

// Brackets and colons separate the parts of an option's description.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

void write_zsh_options(std::ostream& out, const DescribedVerb& verb) {
  for (const DescribedOption& option : verb.options) {
    if (option.is_positional) continue;
    for (const std::string& name : option.names) {
      std::string spec = name + "[" + zsh_text(option.text) + "]";
      if (!option.value.empty()) {
        spec += ":value:";
        spec += option.choices.empty() ? "_files" : "(" + join(option.choices, " ") + ")";
      }
      out << " \\\n        " << quoted(spec, "'\\''");
    }
  }
}

std::string zsh(const DescribedProgram& program) {
  std::ostringstream out;
  out << "#compdef stepscope\n"
         "# zsh completion of stepscope: stepscope --completion zsh\n"
         "_stepscope() {\n"
         "  local context state state_descr line\n"
         "  typeset -A opt_args\n"
         "  _arguments -C";
  write_zsh_options(out, program.itself);
  out << " \\\n        '1:verb:->verb' '*::argument:->argument'\n"
         "  case $state in\n"
         "    verb)\n"
         "      local -a verbs=(";
  for (const DescribedVerb& verb : program.verbs) {
    out << "\n        " << quoted(verb.name + ":" + zsh_text(verb.text), "'\\''");
  }
  out << ")\n"
         "      _describe verb verbs ;;\n"
         "    argument)\n"
         "      local -i dashes=${words[(i)--]}\n"
         "      if (( dashes < CURRENT )); then\n"
         "        shift $dashes words\n"
         "        (( CURRENT -= dashes ))\n"
         "        _normal\n"
         "        return\n"
         "      fi\n"
         "      case $line[1] in\n";
  for (const DescribedVerb& verb : program.verbs) {
    out << "        " << verb.name << ") _arguments -S";
    write_zsh_options(out, verb);
    out << " \\\n        '*:file:_files' ;;\n";
  }
  out << "      esac ;;\n"
         "  esac\n"
         "}\n"
         "compdef _stepscope stepscope\n";
  return out.str();
}

// --- fish ----------------------------------------------------------------------------------------

void write_fish_options(std::ostream& out, const DescribedVerb& verb,
                        const std::string& condition) {
  for (const DescribedOption& option : verb.options) {
    if (option.is_positional) continue;
    out << "complete -c stepscope -n " << condition;
    for (const std::string& name : option.names) {
      const bool is_long = name.starts_with("--");
      out << (is_long ? " -l " : " -s ") << name.substr(is_long ? 2 : 1);
    }
    if (!option.value.empty()) {
      out << (option.choices.empty() ? " -r -F"
                                     : " -x -a " + quoted(join(option.choices, " "), "\\'"));
    }
    out << " -d " << quoted(option.text, "\\'") << "\n";
  }
}

std::string fish(const DescribedProgram& program) {
  std::ostringstream out;
  out << "# fish completion of stepscope: stepscope --completion fish\n";
  const std::string none = "__fish_use_subcommand";
  write_fish_options(out, program.itself, none);
  for (const DescribedVerb& verb : program.verbs) {
    out << "complete -c stepscope -f -n " << none << " -a " << verb.name << " -d "
        << quoted(verb.text, "\\'") << "\n";
    write_fish_options(out, verb, "'__fish_seen_subcommand_from " + verb.name + "'");
  }
  return out.str();
}

}  // namespace

std::string completion(const DescribedProgram& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  return {};
}

}  // namespace stepscope
