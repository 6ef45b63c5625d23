#include "present/doctor_report.h"

#include <algorithm>
#include <vector>

#include "present/json_value.h"

namespace stepscope {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kStateColumn = 2;
constexpr std::size_t kWhatColumn = kStateColumn + 9;
constexpr std::size_t kDetailColumn = kWhatColumn + 20;
constexpr std::size_t kDetailWidth = kWidth - kDetailColumn;

const char* state_word(FindingState state) {
  switch (state) {
    case FindingState::kMissing:
      return "missing";
    case FindingState::kNote:
      return "note";
    case FindingState::kOk:
      break;
  }
  return "ok";
}

std::string colored_state(FindingState state, const Palette& palette) {
  const std::string word = pad_right(state_word(state), kWhatColumn - kStateColumn);
  switch (state) {
    case FindingState::kMissing:
      return palette.red(word);
    case FindingState::kNote:
      return palette.yellow(word);
    case FindingState::kOk:
      break;
  }
  return palette.green(word);
}

// The end of a path says more than its beginning.
std::string cut_front(const std::string& word, std::size_t width) {
  if (width_of(word) <= width || word.find('/') == std::string::npos) return word;
  const std::size_t slash = word.find('/', word.size() - width + 1);
  return slash == std::string::npos ? word : "…" + word.substr(slash);
}

std::vector<std::string> detail_lines(const std::string& detail) {
  std::string fitting;
  for (std::size_t at = 0; at < detail.size();) {
    const std::size_t end = std::min(detail.find(' ', at), detail.size());
    fitting += (at == 0 ? "" : " ") + cut_front(detail.substr(at, end - at), kDetailWidth);
    at = end + 1;
  }
  auto lines = wrap(fitting, kDetailWidth);
  if (lines.empty()) lines.emplace_back();
  return lines;
}

// In the syntax of a shell, so that it can be copied: broken only between words, never shortened.
std::string command_lines(const std::string& command) {
  constexpr std::size_t kRoom = kWidth - kWhatColumn - 2;  // for " \"
  std::string text;
  std::size_t used = 0;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    const std::string word = command.substr(at, end - at);
    if (used > 0 && used + 1 + width_of(word) > kRoom) {
      text += " \\\n" + std::string(kWhatColumn + 2, ' ') + word;
      used = 2 + width_of(word);
    } else {
      text += (used > 0 ? " " : "") + word;
      used += (used > 0 ? 1 : 0) + width_of(word);
    }
    at = end + 1;
  }
  return text;
}

std::string row(const Finding& finding, const Palette& palette) {
  const auto lines = detail_lines(finding.detail);
  std::string text = std::string(kStateColumn, ' ') + colored_state(finding.state, palette) +
                     pad_right(finding.what, kDetailColumn - kWhatColumn) + lines.front() + "\n";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    text += std::string(kDetailColumn, ' ') + lines[i] + "\n";
  }
  if (finding.fix.empty()) return text;
  return text + pad_right("", kStateColumn) + pad_right("fix", kWhatColumn - kStateColumn) +
         palette.bold(command_lines(finding.fix)) + "\n";
}

// --- what each libtorch gets ---------------------------------------------------------------------

constexpr std::size_t kPartColumns = 10;

const char* coverage_word(CoverageState state) {
  switch (state) {
    case CoverageState::kNo:
      return "no";
    case CoverageState::kUnknown:
      return "unknown";
    case CoverageState::kYes:
      break;
  }
  return "yes";
}

std::string colored_part(const Coverage& part, const Palette& palette) {
  const std::string word = coverage_word(part.state);
  const std::string gap = pad_right("", kPartColumns - word.size());
  if (part.state == CoverageState::kYes) return palette.green(word) + gap;
  return (part.state == CoverageState::kNo ? palette.red(word) : palette.yellow(word)) + gap;
}

std::string torch_name(const TorchInstall& torch) {
  return "libtorch " + (torch.version.empty() ? "?" : torch.version);
}

std::string coverage_row(const TorchCoverage& torch, const Palette& palette) {
  std::string text = std::string(kStateColumn, ' ') +
                     pad_right(torch_name(torch.torch), kDetailColumn - kStateColumn);
  for (const Coverage& part : torch.parts) text += colored_part(part, palette);
  if (!torch.torch.is_used) text += "not in use";
  text = text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  for (const Coverage& part : torch.parts) {
    if (part.why.empty()) continue;
    const auto lines = detail_lines(part.why);
    text += std::string(kStateColumn + 2, ' ') +
            pad_right(part.id, kDetailColumn - kStateColumn - 2) + lines.front() + "\n";
    for (std::size_t i = 1; i < lines.size(); ++i) {
      text += std::string(kDetailColumn, ' ') + lines[i] + "\n";
    }
  }
  return text;
}

std::string coverage_table(const std::vector<TorchCoverage>& torches, const Palette& palette) {
  if (torches.empty()) return "";
  std::string text = "\n" + std::string(kStateColumn, ' ') +
                     pad_right("what programs get", kDetailColumn - kStateColumn);
  for (const Coverage& part : torches.front().parts) text += pad_right(part.id, kPartColumns);
  text = text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  for (const TorchCoverage& torch : torches) text += coverage_row(torch, palette);
  return text;
}

Json coverage_json(const TorchCoverage& torch) {
  Json gets = Json::object();
  for (const Coverage& part : torch.parts) {
    const bool unknown = part.state == CoverageState::kUnknown;
    gets[part.id] = {
        {"recorded", unknown ? Json(nullptr) : Json(part.state == CoverageState::kYes)},
        {"why", part.why.empty() ? Json(nullptr) : Json(part.why)}};
  }
  return {{"version", torch.torch.version},
          {"root", torch.torch.root.string()},
          {"origin", torch.torch.origin},
          {"in_use", torch.torch.is_used},
          {"gets", gets}};
}

}  // namespace

std::string doctor_text(const Diagnosis& diagnosis, const Palette& palette) {
  std::string text = "Stepscope " STEPSCOPE_VERSION "\n\n";
  for (const Finding& finding : diagnosis.findings) text += row(finding, palette);
  text += coverage_table(diagnosis.torches, palette) + "\n";
  if (records_ops(diagnosis.findings)) {
    return text + palette.green("Every op of a training program will be recorded.") + "\n";
  }
  return text + palette.red("Something is missing: ops will not be recorded.") + "\n";
}

std::string doctor_json(const Diagnosis& diagnosis) {
  Json rows = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    const std::size_t begin = std::min(finding.what.find_first_not_of(' '), finding.what.size());
    rows.push_back({{"id", finding.id},
                    {"state", state_word(finding.state)},
                    {"what", finding.what.substr(begin)},
                    {"detail", finding.detail},
                    {"fix", finding.fix.empty() ? Json(nullptr) : Json(finding.fix)}});
  }
  Json torches = Json::array();
  for (const TorchCoverage& torch : diagnosis.torches) torches.push_back(coverage_json(torch));
  const Json document{{"schema", "stepscope.doctor/1"},
                      {"stepscope_version", STEPSCOPE_VERSION},
                      {"records_ops", records_ops(diagnosis.findings)},
                      {"findings", rows},
                      {"torches", torches}};
  return document_text(document);
}

}  // namespace stepscope
