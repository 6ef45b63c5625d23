#include "profiler/process/proc_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace stepscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kStatus =
    "Name:\tVmPeak: 7\nVmPeak:\t  2048 kB\nVmHWM:\t\nThreads:\t12\n";

TEST(ProcText, ALineIsFoundByItsFirstWords) {
  EXPECT_EQ(number_in_line(kStatus, "VmPeak:"), 2048) << "not the program that is called so";
  EXPECT_EQ(number_in_line(kStatus, "Threads:"), 12);
  EXPECT_EQ(number_in_line("Threads:\t12", "Threads:"), 12) << "no end of the line";
}

TEST(ProcText, ALineWithoutItsNumberIsNone) {
  EXPECT_EQ(number_in_line(kStatus, "VmHWM:"), std::nullopt);
  EXPECT_EQ(number_in_line(kStatus, "VmSwap:"), std::nullopt);
  EXPECT_EQ(number_in_line("", "VmPeak:"), std::nullopt);
}

TEST(ProcText, NumbersBeginWhereDigitsDo) {
  EXPECT_EQ(number_in("avg10=1.50 total=3"), 10);
  EXPECT_EQ(number_in(" 4096 "), 4096);
  EXPECT_EQ(number_in("unlimited"), 0);
  EXPECT_EQ(number_in("99999999999999999999"), 0) << "more than it holds";
}

TEST(ProcText, FieldsOfStatFollowANameThatMayHoldAnything) {
  EXPECT_THAT(stat_fields("12 (a) b (c)) R 1 0\n"), ElementsAre("R", "1", "0"));
  EXPECT_THAT(stat_fields("12 a R 1"), IsEmpty()) << "no name";
}

TEST(ProcText, WordsAreSplitAtSpacesAndLineEnds) {
  EXPECT_THAT(words_in("S  1 2\n0 "), ElementsAre("S", "1", "2", "0"));
  EXPECT_THAT(words_in("one"), ElementsAre("one"));
  EXPECT_THAT(words_in(" \n"), IsEmpty());
}

TEST(ProcText, AFileIsReadWhole) {
  const std::string status = read_proc_file("/proc/self/status");
  EXPECT_EQ(number_in_line(status, "Pid:"), getpid());
  EXPECT_THAT(status, HasSubstr("\nnonvoluntary_ctxt_switches:"));
  EXPECT_EQ(read_proc_file("/proc/self/no-such-file"), "");
}

}  // namespace
}  // namespace stepscope
