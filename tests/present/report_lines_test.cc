// The lines of code below a verdict.
#include "present/report_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace stepscope {
namespace {

LineShare line(LinePlace place, const char* category, const std::string& file, int number,
               const std::string& function, double share, std::int64_t step_ns) {
  LineShare line;
  line.place = place;
  line.category = category;
  line.file = file;
  line.line = number;
  line.function = function;
  line.samples = 100;
  line.share = share;
  line.ci_low = share - 0.031;
  line.ci_high = share + 0.029;
  line.step = Duration(step_ns);
  return line;
}

// A step of 20 ms, half of it input.
LoopReport loop_of(const char* kind) {
  LoopReport loop;
  loop.trains = true;
  loop.verdict.kind = kind;
  loop.wall.mean = 20'000'000;
  loop.phases.input = 10'000'000;
  loop.phases.forward = 6'000'000;
  loop.phases.other = 4'000'000;
  loop.line_use.loop_samples = 5000;
  loop.line_use.by_category = {{"input", 3000}, {"forward", 1500}, {"host", 500}};
  loop.line_use.worker_samples = 2000;
  loop.lines = {
      line(LinePlace::kLoop, "input", "/src/train.py", 9, "main", 0.9, 9'000'000),
      line(LinePlace::kLoop, "forward", "/src/model.py", 5, "Net.forward", 0.75, 4'500'000),
      line(LinePlace::kLoop, "host", "/src/log.py", 7, "save", 0.5, 2'000'000),
      line(LinePlace::kWorker, "input", "/src/a/data.py", 41, "Images.__getitem__", 0.641,
           6'410'000),
      line(LinePlace::kWorker, "input", "/venv/lib/python3.11/site-packages/torch/worker.py", 54,
           "fetch", 0.2, 2'000'000)};
  return loop;
}

std::string block(const LoopReport& loop, bool colors = false) {
  RunFacts run;
  run.working_folder = "/src";
  return lines_block(run, loop, Palette{colors});
}

std::string row(const std::string& place, const std::string& share, const std::string& time) {
  return "    " + place + std::string(60 - place.size(), ' ') +
         std::string(22 + 2 - share.size(), ' ') + share +  // "–" has three bytes
         std::string(12 - time.size(), ' ') + time + "\n";
}

TEST(LinesBlock, OfAWaitForInputTellsOfWhoMakesTheBatch) {
  LoopReport loop = loop_of("input-bound");
  loop.lines[3].inside = "PIL/Image.py load";
  loop.lines[3].blocked = "read /data/train.bin";
  EXPECT_EQ(block(loop), "\n  the lines of your code   of the input wait, in the workers\n" +
                             row("a/data.py:41 Images.__getitem__", "64.1 % (61–67)", "6.41 ms") +
                             "      → PIL/Image.py load, blocked in read /data/train.bin\n" +
                             row("torch/worker.py:54 fetch", "20.0 % (17–23)", "2.00 ms"));
}

TEST(LinesBlock, WithoutAWorkerOfTheLoopItself) {
  LoopReport loop = loop_of("input-bound");
  loop.lines.resize(3);
  loop.lines[0].blocked = "poll";
  EXPECT_EQ(block(loop), "\n  the lines of your code   of the input wait\n" +
                             row("train.py:9 main", "90.0 % (87–93)", "9.00 ms") +
                             "      blocked in poll\n");
}

TEST(LinesBlock, OfAHostBoundLoopTellsOfTheTimeBetweenPhases) {
  EXPECT_EQ(block(loop_of("host-bound")),
            "\n  the lines of your code   of the time between the phases of a step\n" +
                row("log.py:7 save", "50.0 % (47–53)", "2.00 ms"));
}

TEST(LinesBlock, OfAHostBoundForwardPassTellsOfTheWholeCall) {
  LoopReport loop = loop_of("host-bound");
  loop.shares[static_cast<std::size_t>(Category::kHost)] =
      0.6;  // 12 ms, of which 4 are outside the forward pass
  EXPECT_NE(block(loop).find("of the step\n"), std::string::npos) << block(loop);
}

// What a person must see is the file and the line.
TEST(LinesBlock, OfALongPathTheFoldersAreCutOff) {
  LoopReport loop = loop_of("host-bound");
  loop.lines = {line(LinePlace::kLoop, "host", "/data/somebody/projects/a_model/training/data.py",
                     41, "Images.__getitem__", 0.5, 2'000'000)};
  EXPECT_NE(block(loop).find("    …/projects/a_model/training/data.py:41 Images.__getitem__  "),
            std::string::npos)
      << block(loop);
}

TEST(LinesBlock, WhereWorkersHaveNoCoreTheLinesAreTheirs) {
  LoopReport loop = loop_of("cpu-starved");
  EXPECT_EQ(block(loop).find("of the input wait"), std::string::npos) << "half of the step";
  loop.phases.input = 11'000'000;
  EXPECT_NE(block(loop).find("of the input wait, in the workers"), std::string::npos);
}

// Shares of different categories can only be compared as shares of the step.
TEST(LinesBlock, ElseTellsOfTheWholeStep) {
  EXPECT_EQ(block(loop_of("compute-bound")),
            "\n  the lines of your code   of the step\n" +
                row("train.py:9 main", "45.0 % (43–46)", "9.00 ms") +
                row("model.py:5 Net.forward", "22.5 % (22–23)", "4.50 ms") +
                row("log.py:7 save", "10.0 % (9–11)", "2.00 ms"));
}

TEST(LinesBlock, OfALoopThatNeverTrainsTheStepsAreCalls) {
  LoopReport loop = loop_of("compute-bound");
  loop.trains = false;
  EXPECT_NE(block(loop).find("of the call\n"), std::string::npos) << block(loop);
}

TEST(LinesBlock, FewSamplesTellOfTheFirstLineOnly) {
  LoopReport loop = loop_of("input-bound");
  loop.line_use.worker_samples = LineUse::kEnough - 1;
  const std::string text = block(loop);
  EXPECT_NE(text.find("(99 samples: only the top line)"), std::string::npos) << text;
  EXPECT_NE(text.find("a/data.py:41"), std::string::npos) << text;
  EXPECT_EQ(text.find("worker.py"), std::string::npos) << text;
  loop.line_use.worker_samples = LineUse::kEnough;
  EXPECT_NE(block(loop).find("worker.py"), std::string::npos);
}

TEST(LinesBlock, AHandfulOfSamplesNamesNoLine) {
  LoopReport loop = loop_of("input-bound");
  loop.line_use.worker_samples = LineUse::kFewest;
  EXPECT_NE(block(loop).find("a/data.py:41"), std::string::npos) << block(loop);
  loop.lines[3].ci_low = 0;
  EXPECT_EQ(block(loop).find("a/data.py:41"), std::string::npos) << "it may be no part of it";
  loop.line_use.worker_samples = 1;
  EXPECT_EQ(block(loop),
            "\n  no lines of code: only 1 stack sample of the input wait, in the workers\n");
}

// However many samples the rest of the step has.
TEST(LinesBlock, AHandfulOfSamplesOfACategoryNamesNoLine) {
  LoopReport loop = loop_of("host-bound");
  loop.shares[static_cast<std::size_t>(Category::kHost)] = 0.2;
  EXPECT_NE(block(loop).find("log.py:7"), std::string::npos) << block(loop);
  loop.line_use.by_category["host"] = 3;
  EXPECT_NE(block(loop).find("only 3 stack samples"), std::string::npos) << block(loop);
  loop.verdict.kind = "compute-bound";
  EXPECT_EQ(block(loop).find("log.py:7"), std::string::npos) << block(loop);
  EXPECT_NE(block(loop).find("model.py:5"), std::string::npos) << block(loop);
  loop.line_use.by_category["host"] = 500;
  loop.lines[2].samples = LineUse::kFewest - 1;
  EXPECT_EQ(block(loop).find("log.py:7"), std::string::npos) << block(loop);
}

TEST(LinesBlock, AtMostThreeAreTold) {
  LoopReport loop = loop_of("input-bound");
  loop.lines.clear();
  for (int i = 1; i <= 5; ++i)
    loop.lines.push_back(line(LinePlace::kWorker, "input", "/src/d.py", i, "f", 0.2, 2'000'000));
  const std::string text = block(loop);
  EXPECT_NE(text.find("d.py:3 "), std::string::npos) << text;
  EXPECT_EQ(text.find("d.py:4 "), std::string::npos) << text;
}

TEST(LinesBlock, WithheldLinesAreExplained) {
  LoopReport loop = loop_of("input-bound");
  loop.lines.clear();
  EXPECT_EQ(block(loop), "") << "nothing was looked at";
  loop.line_use.withheld = true;
  EXPECT_EQ(block(loop),
            "\n  no lines of code: Stepscope did not get a core in time to sample them\n");
}

TEST(LinesBlock, WhyThereAreNoneIsSaid) {
  LoopReport loop = loop_of("input-bound");
  loop.lines.clear();
  EXPECT_EQ(block(loop), "");
  RunFacts run;
  run.sampling.note = "CPython 3.9 is not one whose stacks can be read";
  EXPECT_EQ(lines_block(run, loop, Palette{false}),
            "\n  no lines of code: CPython 3.9 is not one whose stacks can be read\n");
}

TEST(LinesBlock, OfSharesTooSmallToMatterNothingIsSaid) {
  LoopReport loop = loop_of("input-bound");
  loop.lines = {line(LinePlace::kWorker, "input", "/src/d.py", 1, "f", 0.019, 190'000)};
  EXPECT_EQ(block(loop), "");
}

TEST(LinesBlock, ALineThatIsNotKnownHasNoNumber) {
  RunFacts run;
  EXPECT_EQ(line_text(line(LinePlace::kLoop, "input", "/src/d.py", 0, "f", 1, 1), run),
            "/src/d.py f");
}

// Names may hold anything; a terminal obeys some of it.
TEST(LinesBlock, NamesCannotSteerTheTerminal) {
  LoopReport loop = loop_of("input-bound");
  loop.lines = {line(LinePlace::kWorker, "input", "/src/a\033[31m\n.py", 1,
                     "f\u202e" + std::string(300, 'x'), 0.9, 1'000'000)};
  loop.lines[0].inside = "b\033]0;title\007.py g" + std::string(300, 'y');
  loop.lines[0].blocked = "read /data/\n\x9b";
  const std::string text = block(loop);
  EXPECT_EQ(text.find_first_of("\033\007\x9b"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_NE(text.find("a?[31m?.py:1 f?xxx"), std::string::npos) << text;
  EXPECT_NE(text.find("…"), std::string::npos) << "what is too long is cut off";
}

TEST(LinesBlock, ALongFileNameLeavesTheLineAndTheFunction) {
  LoopReport loop = loop_of("input-bound");
  std::string wide = "ü";
  for (int i = 0; i < 60; ++i) wide += "长";
  loop.lines = {line(LinePlace::kWorker, "input", "/src/" + wide + "_end.py", 17, "slow", 0.7, 1),
                line(LinePlace::kWorker, "input", "/src/" + wide + "_end.py", 23, "fast", 0.3, 1)};
  const std::string text = block(loop);
  EXPECT_NE(text.find("长_end.py:17 slow "), std::string::npos) << text;
  EXPECT_NE(text.find("长_end.py:23 fast "), std::string::npos) << text;
}

TEST(LinesBlock, ColorsAreEscapeSequencesThatAreWhole) {
  LoopReport loop = loop_of("input-bound");
  loop.lines[3].inside = std::string(300, 'y');
  std::string text = block(loop, /*colors=*/true);
  EXPECT_NE(text.find(std::string(kDim) + "→ yyy"), std::string::npos) << text;
  for (const std::string_view code : kColorCodes) {
    for (std::size_t at = 0; (at = text.find(code)) != std::string::npos;)
      text.erase(at, code.size());
  }
  EXPECT_EQ(text, block(loop));
}

}  // namespace
}  // namespace stepscope
