// Runs every file of cases/: input, question and expected answer stand together there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/analyzer/case_file.h"
#include "tests/source_folder.h"

namespace stepscope::testing {
namespace {

std::vector<std::string> case_files() {
  std::vector<std::string> paths;
  const auto folder = source_folder() / "tests/analyzer/cases";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class Cases : public ::testing::TestWithParam<std::string> {};

TEST_P(Cases, AnswerIsAsExpected) {
  CaseFile file = parse_case(GetParam());
  ASSERT_EQ(file.problem, "");
  EXPECT_EQ(answer(file.builder.recording(), file.show), file.expected) << GetParam();
}

std::string name_of(const ::testing::TestParamInfo<std::string>& param) {
  return std::filesystem::path(param.param).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Analyzer, Cases, ::testing::ValuesIn(case_files()), name_of);

}  // namespace
}  // namespace stepscope::testing
