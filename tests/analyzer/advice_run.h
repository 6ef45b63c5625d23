// A run of equal steps, and what is advised about it: what the tests of advice share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "present/advice/advice_words.h"
#include "present/what_if_answer.h"
#include "tests/analyzer/recording_builder.h"

namespace stepscope::testing {

inline constexpr std::int64_t kMs = 1'000'000;

// Steps by the loader: a wait of `input`, an op of `rest`, and what `more` adds after it.
struct Loop {
  int steps = 100;
  std::int64_t input = 0;
  double busy = 1;
  std::int64_t rest = 10 * kMs;
  std::int64_t cores = 8;
  bool trains = true;
  std::string loader = "train";
  std::string op_in_wait = {};  // the last quarter of the wait
  std::function<std::int64_t(RecordingBuilder&, ThreadId, int step, std::int64_t at)> more = {};
};

inline RecordingBuilder record(const Loop& loop) {
  RecordingBuilder builder;
  builder.facts.cpu_count = loop.cores;
  builder.facts.leaf_op_overhead = Duration(1000);
  const ThreadId main = builder.thread("main");
  std::int64_t at = 0;
  for (int i = 0; i < loop.steps; ++i) {
    const std::int64_t waited = at + loop.input;
    const auto cpu = static_cast<std::int64_t>(static_cast<double>(loop.input) * loop.busy);
    builder.phase(main, PhaseKind::kInput, at, waited, cpu, loop.loader);
    if (!loop.op_in_wait.empty())
      builder.op(main, loop.op_in_wait, waited - loop.input / 4, waited);
    builder.op(main, "aten::linear", waited, waited + loop.rest);
    at = waited + loop.rest;
    if (loop.trains) builder.phase(main, PhaseKind::kBackward, at - 1000, at);
    if (loop.more) at = loop.more(builder, main, i, at);
  }
  return builder;
}

inline const Advice* find(const std::vector<Advice>& advice, const std::string& rule) {
  const auto it =
      std::find_if(advice.begin(), advice.end(), [&](const Advice& a) { return a.rule == rule; });
  return it == advice.end() ? nullptr : &*it;
}

inline std::vector<Advice> advice_of(RecordingBuilder builder) {
  const auto report = analyze(builder.recording());
  EXPECT_TRUE(report.ok());
  return make_advice(report->loops.at(0));
}

// The predicted step of a rule in ms; 0: it is silent.
inline double predicted_ms(const Loop& loop, const std::string& rule) {
  const auto advice = advice_of(record(loop));
  const Advice* found = find(advice, rule);
  if (found == nullptr) return 0;
  return static_cast<double>(found->predicted_step_ns) / kMs;
}

inline Result<WhatIfAnswer> ask(const Loop& loop, const WhatIfQuestion& question) {
  RecordingBuilder builder = record(loop);
  return what_if(builder.recording(), question);
}

// The predicted step in ms.
inline double asked_ms(const Loop& loop, const WhatIfQuestion& question) {
  const auto answer = ask(loop, question);
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return answer.ok() ? answer->predicted.step_ns / kMs : 0;
}

}  // namespace stepscope::testing
