// Which processes work for another one, according to who started whom.
#include "analyzer/process_tree.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <vector>

namespace stepscope {
namespace {

struct Started {
  std::int64_t pid, by;
};

// The ids are 1, 2, … in this order.
ProcessTree tree_of(std::initializer_list<Started> all) {
  std::vector<StoredProcess> processes;
  for (const Started& started : all) {
    StoredProcess process;
    process.id = static_cast<ProcessId>(processes.size() + 1);
    process.pid = started.pid;
    process.parent_pid = started.by;
    processes.push_back(process);
  }
  return ProcessTree(processes);
}

std::set<ProcessId> ids(std::initializer_list<int> numbers) {
  std::set<ProcessId> set;
  for (const int number : numbers) set.insert(static_cast<ProcessId>(number));
  return set;
}

TEST(ProcessTree, WhatAProcessStartedIncludesWhatThatStarted) {
  const ProcessTree tree = tree_of({{10, 1}, {11, 10}, {12, 11}, {13, 12}, {20, 1}, {21, 20}});
  EXPECT_EQ(tree.started_by(10), ids({2, 3, 4})) << "12 and 13 were started by a fork server";
  EXPECT_EQ(tree.started_by(12), ids({4}));
  EXPECT_EQ(tree.started_by(20), ids({6}));
  EXPECT_EQ(tree.started_by(21), ids({}));
  EXPECT_EQ(tree.started_by(99), ids({}));
}

TEST(ProcessTree, AProcessThatReplacedItselfHasStartedTheSame) {
  const ProcessTree tree = tree_of({{10, 1}, {10, 1}, {11, 10}});
  EXPECT_EQ(tree.started_by(10), ids({3}));
}

TEST(ProcessTree, AStrangersTreeMayBeACircle) {
  const ProcessTree tree = tree_of({{10, 12}, {11, 10}, {12, 11}, {13, 13}});
  EXPECT_EQ(tree.started_by(10), ids({2, 3}));
  EXPECT_EQ(tree.started_by(13), ids({}));
  EXPECT_EQ(tree.serving(ids({4})), ids({}));
}

}  // namespace
}  // namespace stepscope
