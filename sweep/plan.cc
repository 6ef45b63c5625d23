#include "sweep/plan.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "profiler/recorder/process_info.h"
#include "sweep/command_template.h"
#include "sweep/command_words.h"
#include "sweep/parameter.h"

namespace stepscope {
namespace {

Status refuse(const std::string& what) { return Status::error(ErrorKind::kUsage, what); }

struct Variant {
  std::string name;
  CommandTemplate command;
};

Result<std::vector<SweepParameter>> read_parameters(const SweepArguments& arguments) {
  std::vector<SweepParameter> parameters;
  for (const std::string& text : arguments.parameters) {
    auto parameter = parse_parameter(text);
    if (!parameter.ok()) return parameter.status();
    for (const SweepParameter& other : parameters) {
      if (other.name == parameter->name)
        return refuse("-p " + text + ": " + other.name + " appears twice");
    }
    parameters.push_back(*std::move(parameter));
  }
  return parameters;
}

Status add_variant(const std::string& name, const std::vector<std::string>& words,
                   const std::string& text, std::vector<Variant>& variants, SweepPlan& plan) {
  const std::string option = "--variant " + name + "=" + text;
  if (words.empty()) return refuse(option + ": no command");
  auto command = CommandTemplate::parse(words);
  if (!command.ok()) return command.status();
  for (const Variant& other : variants) {
    if (other.name == name) return refuse(option + ": " + name + " appears twice");
  }
  variants.push_back({name, *std::move(command)});
  plan.variants.push_back({name, text});
  return {};
}

Result<std::vector<Variant>> read_variants(const SweepArguments& arguments, SweepPlan& plan) {
  std::vector<Variant> variants;
  if (arguments.variants.empty()) {
    if (arguments.program.empty()) return refuse("no command; write it after --");
    const Status status =
        add_variant("", arguments.program, command_line(arguments.program), variants, plan);
    if (!status.ok()) return status;
    return variants;
  }
  if (!arguments.program.empty()) return refuse("give a command after -- or --variant, not both");
  for (const std::string& text : arguments.variants) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return refuse("--variant " + text + ": write NAME='COMMAND'");
    }
    const auto words = shell_words(text.substr(equals + 1));
    if (!words.ok()) return words.status();
    const Status status =
        add_variant(text.substr(0, equals), *words, text.substr(equals + 1), variants, plan);
    if (!status.ok()) return status;
  }
  return variants;
}

std::string known_placeholders(const std::vector<SweepParameter>& parameters) {
  std::string list;
  for (const SweepParameter& parameter : parameters) {
    list += (list.empty() ? "" : ", ") + ("{" + parameter.name + "}");
  }
  return list.empty() ? "no -p was given" : "known: " + list;
}

Status check_known(const std::set<std::string>& placeholders, const std::string& where,
                   const std::vector<SweepParameter>& parameters) {
  for (const std::string& name : placeholders) {
    const bool known =
        std::any_of(parameters.begin(), parameters.end(),
                    [&](const SweepParameter& parameter) { return parameter.name == name; });
    if (known) continue;
    return refuse(where + ": {" + name + "} is not a parameter; " + known_placeholders(parameters) +
                  " (write {{ and }} for literal braces)");
  }
  return {};
}

Status check_placeholders(const std::vector<Variant>& variants,
                          const std::vector<SweepParameter>& parameters) {
  for (const Variant& variant : variants) {
    const std::string where = variant.name.empty() ? "the command" : "--variant " + variant.name;
    const auto& used = variant.command.placeholders();
    if (Status status = check_known(used, where, parameters); !status.ok()) return status;
    for (const SweepParameter& parameter : parameters) {
      if (used.count(parameter.name) > 0) continue;
      return refuse("-p " + parameter.name + ": " + where + " has no {" + parameter.name +
                    "}; write it where its value belongs");
    }
  }
  return {};
}

// All settings, the values of the last parameter changing fastest.
Result<std::vector<SweepCell>> cells_of(const SweepPlan& plan) {
  std::size_t each = 1;
  for (const SweepParameter& parameter : plan.parameters) {
    each *= parameter.values.size();
    if (each * plan.variants.size() > kMaxCells) {
      return refuse("more than " + std::to_string(kMaxCells) + " settings; sweep fewer at a time");
    }
  }
  std::vector<SweepCell> cells;
  for (std::size_t variant = 0; variant < plan.variants.size(); ++variant) {
    for (std::size_t number = 0; number < each; ++number) {
      SweepCell cell{variant, std::vector<std::size_t>(plan.parameters.size()), ""};
      std::size_t rest = number;
      for (std::size_t i = plan.parameters.size(); i-- > 0;) {
        const std::size_t values = plan.parameters[i].values.size();
        cell.values[i] = rest % values;
        rest /= values;
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

std::map<std::string, std::string> values_of(const SweepPlan& plan, const SweepCell& cell) {
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    values[plan.parameters[i].name] = plan.parameters[i].values[cell.values[i]].text;
  }
  return values;
}

// Without an option, a numeric parameter named "batch" is the number of samples per step.
Result<std::string> samples_text(const SweepArguments& arguments, const SweepPlan& plan) {
  if (!arguments.samples_per_step.empty() && !arguments.samples_per_run.empty()) {
    return refuse("give --samples-per-step or --samples-per-run, not both");
  }
  if (!arguments.samples_per_step.empty()) return arguments.samples_per_step;
  if (!arguments.samples_per_run.empty()) return arguments.samples_per_run;
  for (const SweepParameter& parameter : plan.parameters) {
    if (parameter.name == "batch" && parameter.numeric()) return std::string("{batch}");
  }
  return std::string();
}

Status add_samples(const SweepArguments& arguments, SweepJob& job) {
  const auto text = samples_text(arguments, job.plan);
  if (!text.ok()) return text.status();
  job.samples.assign(job.plan.cells.size(), std::nullopt);
  job.per_run = !arguments.samples_per_run.empty();
  // The samples of a run are spread over all of its steps, so none is left out unless requested.
  if (arguments.warmup >= 0 || job.per_run) job.warm_up = std::max(arguments.warmup, 0);
  if (text->empty()) return {};
  const std::string option = job.per_run ? "--samples-per-run" : "--samples-per-step";
  const auto expression = CommandTemplate::parse({*text});
  if (!expression.ok()) return expression.status();
  if (Status status = check_known(expression->placeholders(), option, job.plan.parameters);
      !status.ok())
    return status;
  for (std::size_t i = 0; i < job.plan.cells.size(); ++i) {
    const auto product =
        evaluate_product(expression->fill(values_of(job.plan, job.plan.cells[i]))[0]);
    if (!product.ok()) return refuse(option + ": " + product.status().message());
    job.samples[i] = *product;
  }
  job.plan.meta.emplace_back(job.per_run ? "samples_per_run" : "samples_per_step", *text);
  return {};
}

void add_meta(const SweepArguments& arguments, SweepJob& job) {
  SweepMeta& meta = job.plan.meta;
  for (const auto& [key, value] : machine_meta()) meta.emplace_back(key, value);
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  std::error_code ignored;
  meta.insert(meta.end(), {{"memory_bytes", std::to_string(memory)},
                           {"folder", std::filesystem::current_path(ignored).string()},
                           {"rounds", std::to_string(arguments.repeats)},
                           {"seed", std::to_string(arguments.seed)},
                           {"warm_up", job.warm_up ? std::to_string(*job.warm_up) : ""},
                           {"tier", arguments.tier},
                           {"memory_limit_bytes",
                            job.memory_limit > 0 ? std::to_string(job.memory_limit) : ""}});
}

std::string grid_text(const SweepPlan& plan) {
  std::string text;
  for (const SweepParameter& parameter : plan.parameters) {
    text += (text.empty() ? "" : " ") + parameter.name + "=";
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
      text += (i == 0 ? "" : ",") + parameter.values[i].text;
    }
  }
  return text;
}

std::string commands_text(const SweepPlan& plan) {
  std::string text;
  for (const SweepVariant& variant : plan.variants) {
    text += (text.empty() ? "" : " · ") + (variant.name.empty() ? "" : variant.name + "=") +
            variant.command;
  }
  return text;
}

}  // namespace

Result<SweepJob> plan_sweep(const SweepArguments& arguments) {
  SweepJob job;
  auto parameters = read_parameters(arguments);
  if (!parameters.ok()) return parameters.status();
  job.plan.parameters = *std::move(parameters);
  const auto variants = read_variants(arguments, job.plan);
  if (!variants.ok()) return variants.status();
  if (job.plan.parameters.empty() && variants->size() < 2) {
    return refuse("nothing to sweep; give -p NAME=VALUE,VALUE or two --variant");
  }
  if (Status status = check_placeholders(*variants, job.plan.parameters); !status.ok())
    return status;
  auto cells = cells_of(job.plan);
  if (!cells.ok()) return cells.status();
  job.plan.cells = *std::move(cells);
  for (SweepCell& cell : job.plan.cells) {
    job.words.push_back((*variants)[cell.variant].command.fill(values_of(job.plan, cell)));
    cell.command = command_line(job.words.back());
  }
  if (!arguments.memory_limit.empty()) {
    const auto limit = parse_size(arguments.memory_limit);
    if (!limit.ok()) return limit.status();
    job.memory_limit = *limit;
  }
  if (Status status = add_samples(arguments, job); !status.ok()) return status;
  add_meta(arguments, job);
  return job;
}

Status check_same_sweep(const std::string& path, const SweepPlan& stored, const SweepPlan& wanted) {
  const auto differs = [&](const std::string& what, const std::string& there,
                           const std::string& here) {
    return refuse(path + ": contains a sweep with another " + what + " (\"" + there +
                  "\" there, \"" + here +
                  "\" here); name another file with -o, or start over with --restart");
  };
  if (grid_text(stored) != grid_text(wanted)) {
    return differs("grid", grid_text(stored), grid_text(wanted));
  }
  if (commands_text(stored) != commands_text(wanted)) {
    return differs("command", commands_text(stored), commands_text(wanted));
  }
  const std::pair<const char*, const char*> keys[] = {{"warm_up", "--warmup"},
                                                      {"tier", "--tier"},
                                                      {"seed", "--seed"},
                                                      {"memory_limit_bytes", "--memory-limit"},
                                                      {"cpu_model", "processor"},
                                                      {"cpu_count", "number of cores"},
                                                      {"samples_per_step", "--samples-per-step"},
                                                      {"samples_per_run", "--samples-per-run"}};
  for (const auto& [key, name] : keys) {
    const std::string there = stored.meta_text(key), here = wanted.meta_text(key);
    if (there != here) return differs(name, there, here);
  }
  return {};
}

}  // namespace stepscope
