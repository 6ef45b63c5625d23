#include "present/sweep_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "analyzer/printable.h"
#include "analyzer/words.h"
#include "present/path_argument.h"
#include "present/sweep_grid.h"
#include "present/terminal_text.h"
#include "store/counted.h"
#include "sweep/setting.h"

namespace stepscope {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kMaxRows = 60;   // of the table of all settings
constexpr std::size_t kMaxLines = 12;  // of settings that are not available
constexpr std::size_t kAsGood = 18;    // columns

std::string line_of(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string paragraph(const std::string& text, const std::string& first, const std::string& next) {
  std::string result;
  for (const std::string& line : wrap(text, kWidth - std::max(width_of(first), width_of(next)))) {
    result += line_of((result.empty() ? first : next) + line);
  }
  return result;
}

std::string header(const SweepReport& report, const std::string& path) {
  const SweepPlan& plan = report.plan;
  std::string text = path;
  if (plan.variants.size() == 1) text += " · " + plan.variants.front().command;
  const std::string cores = plan.meta_text("cpu_count");
  text += " · " + cores + (cores == "1" ? " core" : " cores");
  if (const std::string memory = plan.meta_text("memory_bytes"); !memory.empty()) {
    text += ", " + bytes_text(std::stod(memory));
  }
  for (const std::string& version : report.torch_versions) text += " · libtorch " + version;
  text += " · " + counted(static_cast<std::int64_t>(report.cells.size()), "setting") + ", " +
          std::to_string(report.runs_made) + " of " + counted(report.runs_planned, "run");
  return paragraph(printable(text), "", "  ");
}

const std::string& scanned_name(const SweepReport& report) {
  return report.plan.parameters[*report.scanned].name;
}

std::string value_text(double value) {
  return value == std::floor(value) ? count_text(std::llround(value)) : shortest_text(value);
}

double number_of(const SweepReport& report, std::size_t cell) {
  return value_of(report.plan, report.plan.cells[cell], *report.scanned).number.value_or(0);
}

std::string scanned_value(const SweepReport& report, std::size_t cell) {
  return value_text(number_of(report, cell));
}

std::string as_good_text(const SweepReport& report, const Scan& scan) {
  if (scan.as_good.size() < 2) return "no other";
  std::string text;
  if (scan.good_from < scan.good_to)
    text = value_text(scan.good_from) + " to " + value_text(scan.good_to);
  for (const std::size_t cell : scan.as_good) {
    const double value = number_of(report, cell);
    if (value >= scan.good_from && value <= scan.good_to) continue;
    text += (text.empty() ? "" : ", ") + value_text(value);
  }
  return text;
}

// The fitted line says little about values far beyond the largest one that was tried.
constexpr double kFar = 10;

// What the runs themselves say; nothing: none ran out of memory.
std::optional<std::string> tried_text(const SweepReport& report, const Scan& scan) {
  std::string fits = "none";
  for (const std::size_t cell : scan.cells) {
    const CellFigures& figures = report.cells[cell];
    const std::string value = value_text(number_of(report, cell));
    if (figures.outcome == SweepOutcome::kOutOfMemory) return fits + " (" + value + " does not)";
    if (figures.available()) fits = value;
  }
  return std::nullopt;
}

std::string fit_text(const SweepReport& report, const Scan& scan) {
  if (!scan.memory) return tried_text(report, scan).value_or(scan.no_memory_fit);
  const MemoryFit& fit = *scan.memory;
  const double tried = number_of(report, scan.cells.back());
  if (fit.largest > kFar * tried) return "more than " + value_text(kFar * tried);
  if (!fit.interval) return value_text(fit.largest);
  return value_text(fit.largest) + " (" + value_text(fit.interval->low) + "–" +
         value_text(fit.interval->high) + ")";
}

std::string cost_heading(const SweepReport& report) {
  return report.per_sample ? "samples/s" : in_units("a step", report.unit);
}

// The best value of each group of settings, one line each.
std::string best_lines(const SweepReport& report, const Palette& palette) {
  if (report.scans.empty()) return "";
  std::size_t title = 12;
  for (const Scan& scan : report.scans) title = std::max(title, width_of(scan.title));
  title = std::min<std::size_t>(title, 30);
  const std::string& name = scanned_name(report);
  std::string text = "\n" + line_of("  " + palette.bold(pad_right("best " + name, title)) +
                                    pad_left(name, 9) + pad_left(cost_heading(report), 12) + "   " +
                                    pad_right("as good", kAsGood) + "largest that fits");
  for (const Scan& scan : report.scans) {
    std::string line = "  " + pad_right(cut(scan.title, title), title);
    if (!scan.best) {
      text += line_of(line + pad_left("N/A", 9));
      continue;
    }
    line += palette.green(pad_left(scanned_value(report, *scan.best), 9)) +
            pad_left(cost_text(report, report.cells[*scan.best]), 12) + "   " +
            pad_right(cut(as_good_text(report, scan), kAsGood - 1), kAsGood) +
            fit_text(report, scan);
    text += line_of(line);
  }
  return text;
}

std::string memory_lines(const SweepReport& report, const Palette& palette) {
  std::string text;
  for (const Scan& scan : report.scans) {
    if (!scan.pressure) continue;
    const std::string where = scan.title.empty() ? "" : " with " + scan.title;
    std::string sentence = scanned_name(report) + " " + scanned_value(report, scan.pressure->cell) +
                           where + " costs " + percent_text(scan.pressure->slowdown) +
                           " more than the best: ";
    for (std::size_t i = 0; i < scan.pressure->evidence.size(); ++i) {
      sentence += (i == 0 ? "" : "; ") + scan.pressure->evidence[i];
    }
    std::string lines = paragraph(sentence, "  memory  ", "          ");
    text += lines.replace(2, 6, palette.yellow("memory"));
  }
  return text.empty() ? "" : "\n" + text;
}

std::string factor_text(double factor) { return fmt::format("{:.2f}", factor); }

std::string level_line(const Level& level, const std::string& unit) {
  std::string line =
      "    " + pad_right(cut(level.name, 24), 26) + pad_left(time_text(level.cost_ns), 9) + unit;
  if (level.relative > 1) {
    line += pad_left(factor_text(level.relative) + " ×", 10) + "  (95 % CI " +
            factor_text(level.interval.low) + "–" + factor_text(level.interval.high) + ")" +
            (level.noise ? "  noise" : "");
  }
  return line_of(line);
}

std::string comparison_lines(const SweepReport& report, const Palette& palette) {
  std::string text;
  for (const LevelComparison& comparison : report.comparisons) {
    text += "\n  " + palette.bold(printable(comparison.of));
    if (comparison.levels.empty()) {
      text += "  no setting is available for all of them\n";
      continue;
    }
    text += "  mean over " + std::to_string(comparison.settings) +
            (comparison.settings == 1 ? " setting" : " settings that all of them have") + "\n";
    for (const Level& level : comparison.levels) {
      text += level_line(level, report.per_sample ? " a sample" : in_units(" a step", report.unit));
    }
    if (comparison.left_out.empty()) continue;
    std::string left;
    for (const std::string& setting : comparison.left_out)
      left += (left.empty() ? "" : ", ") + setting;
    text += paragraph("left out for all: " + left, "    ", "    ");
  }
  return text;
}

// One line for each setting that is not available, with the cause.
std::string missing_lines(const SweepReport& report, const Palette& palette) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const CellFigures& cell : report.cells) {
    if (cell.available() || !cell.tried) continue;
    lines.emplace_back(setting_title(report.plan, report.plan.cells[cell.cell]), cell.cause);
  }
  if (lines.empty()) return "";
  std::string text = "\n";
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) {
    std::string line =
        paragraph(printable(lines[i].first + ": " + lines[i].second), "  N/A  ", "       ");
    text += line.replace(2, 3, palette.red("N/A"));
  }
  if (lines.size() > kMaxLines) {
    text += "  …    " + std::to_string(lines.size() - kMaxLines) + " more; --json has all\n";
  }
  return text;
}

// "8 · 64 · eager", below "batch · length · format".
std::string short_title(const SweepPlan& plan, const SweepCell& cell) {
  std::string title = plan.variants[cell.variant].name;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    title += (title.empty() ? "" : " · ") + value_of(plan, cell, i).text;
  }
  return title.empty() ? "the command" : title;
}

std::string title_heading(const SweepPlan& plan) {
  std::string heading = plan.variants.size() > 1 ? "variant" : "";
  for (const SweepParameter& parameter : plan.parameters) {
    heading += (heading.empty() ? "" : " · ") + parameter.name;
  }
  return heading;
}

// A large batch may cause millions of faults per step; the column fits 99,999 and a space or two.
std::string faults_text(double faults) {
  return faults < 99'999.5 ? rate_text(faults) : rate_text(faults / 1e3) + " k";
}

std::string figure_row(const SweepReport& report, const CellFigures& cell) {
  const std::string title =
      cut(printable(short_title(report.plan, report.plan.cells[cell.cell])), 29);
  std::string line = "  " + pad_right(title, 30);
  if (!cell.available()) return line_of(line + pad_left(short_outcome(cell), 15));
  const auto optional_text = [](const std::optional<double>& value, const auto& text) {
    return value ? text(*value) : std::string("–");
  };
  return line_of(
      line + pad_left(count_text(cell.steps), 7) + pad_left(time_text(cell.step.value), 9) +
      pad_left(time_text(cell.p50_ns), 9) + pad_left(time_text(cell.p99_ns), 9) +
      pad_left(optional_text(cell.samples_per_second(), [](double v) { return rate_text(v); }),
               10) +
      pad_left(bytes_text(cell.peak_rss_bytes), 8) +
      pad_left(optional_text(cell.minor_faults, [](double v) { return faults_text(v); }), 9) +
      pad_left(optional_text(cell.input_share, [](double v) { return percent_text(v); }), 7));
}

std::string all_settings(const SweepReport& report, const Palette& palette) {
  std::string text =
      "\n" + line_of("  " + palette.bold(pad_right(cut(title_heading(report.plan), 29), 30)) +
                     pad_left(report.unit + "s", 7) + pad_left("mean", 9) + pad_left("p50", 9) +
                     pad_left("p99", 9) + pad_left("samples/s", 10) + pad_left("peak", 8) +
                     pad_left("faults", 9) + pad_left("input", 7));
  for (std::size_t i = 0; i < std::min(report.cells.size(), kMaxRows); ++i) {
    text += figure_row(report, report.cells[i]);
  }
  if (report.cells.size() > kMaxRows) {
    text += "  … " + std::to_string(report.cells.size() - kMaxRows) + " more; --json has all\n";
  }
  return text;
}

std::string note_lines(const SweepReport& report, const Palette& palette) {
  std::string text;
  for (const std::string& note : report.notes) {
    std::string lines = paragraph(note, "  note  ", "        ");
    text += lines.replace(2, 4, palette.yellow("note"));
  }
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string sweep_text(const SweepReport& report, const std::string& path, bool color) {
  const Palette palette{color};
  return header(report, path) + best_lines(report, palette) + memory_lines(report, palette) +
         comparison_lines(report, palette) + missing_lines(report, palette) +
         sweep_grids(report, palette, kWidth) + all_settings(report, palette) +
         note_lines(report, palette) + "\n" +
         line_of("  next  stepscope report " + path_argument(path) + " -o sweep.html · sqlite3 " +
                 path_argument(path) + " \"SELECT * FROM cell_stats\"");
}

}  // namespace stepscope
