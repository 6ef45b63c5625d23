// The page of a sweep: what it says, and that it fits.
#include "present/sweep_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "present/terminal_text.h"
#include "sweep/analyze_sweep.h"
#include "tests/sweep/sweeps.h"

namespace stepscope {
namespace {

using testing::add_runs;
using testing::grid_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::numbers;
using testing::words;

// Two lengths, two formats; long sequences in large batches do not fit.
SweepData serve_sweep() {
  SweepData data = grid_of({numbers("batch", {1, 8, 64}), numbers("length", {8, 128}),
                            words("format", {"eager", "script"})},
                           {{"", "./serve --batch {batch} --length {length} --format {format}"}});
  const double batches[] = {1, 8, 64}, lengths[] = {8, 128};
  add_runs(
      data,
      [&](const SweepCell& cell) {
        if (cell.values[0] == 2 && cell.values[1] == 1 && cell.values[2] == 0) return 0.0;
        const double each = 1e4 * lengths[cell.values[1]] * batches[cell.values[0]];
        return (cell.values[2] == 0 ? 5e5 : 2e5) + each;
      },
      [&](const SweepCell& cell) { return batches[cell.values[0]]; });
  return data;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_it_fits(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(width_of(line), 100U) << line;
    EXPECT_FALSE(line.ends_with(" ")) << line;
  }
}

TEST(SweepText, TellsTheBestTheGridAndWhatIsMissing) {
  const std::string text = sweep_text(analyze_sweep(serve_sweep()), "sweep.db", false);
  expect_it_fits(text);
  EXPECT_THAT(text, HasSubstr("34 of 34 runs"));
  EXPECT_THAT(text, HasSubstr("length=8 format=eager"));
  EXPECT_THAT(text, HasSubstr("samples/s  format=script"));
  EXPECT_THAT(text, HasSubstr("batch \\ length"));
  EXPECT_THAT(text, HasSubstr("N/A memory"));
  EXPECT_THAT(
      text, HasSubstr("N/A  batch=64 length=128 format=eager: ran out of memory: std::bad_alloc"));
  EXPECT_THAT(text, HasSubstr("8 (64 does not)")) << "no line is drawn, but this is known";
  EXPECT_THAT(text, HasSubstr("mean over 5 settings that all of them have"));
  EXPECT_THAT(text, HasSubstr("left out for all: batch=64 length=128"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(SweepText, ColoursAreForTerminals) {
  EXPECT_THAT(sweep_text(analyze_sweep(serve_sweep()), "sweep.db", true), HasSubstr("\033["));
}

TEST(SweepText, FitsWithManyColumnsAndLongNames) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 1; i <= 20; ++i) lengths.push_back(i * 100'000);
  SweepData data =
      grid_of({numbers("batch", {1, 2}), numbers("length", lengths),
               words("a_parameter_with_a_very_long_name", {std::string(80, 'x'), "y"})});
  add_runs(data, [](const SweepCell&) { return 123456.0; }, [](const SweepCell&) { return 1e6; });
  const std::string text = sweep_text(analyze_sweep(data), "sweep.db", false);
  expect_it_fits(text);
  EXPECT_THAT(text, HasSubstr("2000000")) << "columns that do not fit are continued below";
  EXPECT_THAT(text, HasSubstr("20 more; --json has all"));
}

TEST(SweepText, WideCharactersShiftNoColumn) {
  SweepData data = grid_of({numbers("batch", {1, 2}), words("text", {"abcd", "漢字"})});
  add_runs(data, [](const SweepCell&) { return 1e6; });
  const std::string text = sweep_text(analyze_sweep(data), "sweep.db", false);
  std::vector<std::string> narrow, wide;  // the rows of the table of all settings
  for (std::string line : lines_of(text)) {
    if (line.find("  1 · ") == std::string::npos) continue;
    const std::size_t place = line.find("漢字");
    if (place == std::string::npos) {
      narrow.push_back(line);
    } else {
      wide.push_back(line.replace(place, std::string("漢字").size(), "abcd"));
    }
  }
  EXPECT_EQ(narrow.size(), 1U);
  EXPECT_EQ(narrow, wide);
}

TEST(SweepText, OneSettingOfEachVariantNeedsNoGrid) {
  SweepData data = grid_of({}, {{"old", "./a"}, {"new", "./b"}});
  add_runs(data, [](const SweepCell& cell) { return cell.variant == 0 ? 2e6 : 1e6; });
  const std::string text = sweep_text(analyze_sweep(data), "sweep.db", false);
  expect_it_fits(text);
  EXPECT_THAT(text, HasSubstr("variant  mean over 1 setting"));
  EXPECT_THAT(text, HasSubstr("2.00 ×"));
  EXPECT_THAT(text, Not(HasSubstr("* best")));
}

TEST(SweepText, WhatIsNotMeasuredYetIsSaid) {
  const std::string text =
      sweep_text(analyze_sweep(grid_of({numbers("batch", {1, 2})})), "sweep.db", false);
  expect_it_fits(text);
  EXPECT_THAT(text, HasSubstr("0 of 6 runs"));
  EXPECT_THAT(text, HasSubstr("not yet"));
}

}  // namespace
}  // namespace stepscope
