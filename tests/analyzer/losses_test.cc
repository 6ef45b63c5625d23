// What a run lost, as people read it.
#include "present/losses.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "store/loss_kinds.h"
#include "tests/source_folder.h"

namespace stepscope {
namespace {

TEST(Losses, HaveASingularAndAPlural) {
  EXPECT_EQ(loss_text("unwritten", 47'649), "47,649 events that could not be written");
  EXPECT_EQ(loss_text("unwritten", 1), "1 event that could not be written");
  EXPECT_EQ(loss_text("op", 7), "7 ops");
  EXPECT_EQ(loss_text("process", 2), "2 processes not recorded");
  EXPECT_EQ(loss_text("device_record", 2), "2 device activities");
  EXPECT_EQ(loss_text("from\nlater", 3), "3 events of kind \"from?later\"");
  EXPECT_EQ(loss_text("later", 1), "1 event of kind \"later\"");
}

TEST(Losses, OfAllThreadsAreAddedUp) {
  EXPECT_EQ(losses_text({}, false), "nothing lost");
  EXPECT_EQ(losses_text({}, true), "incomplete");
  EXPECT_EQ(losses_text({{ThreadId(1), "op", 0}}, false), "nothing lost");
  EXPECT_EQ(losses_text({{ThreadId(1), "phase", 1}, {ThreadId(1), "op", 3}, {ThreadId(2), "op", 4}},
                        true),
            "lost: 7 ops, 1 phase");
}

// A process that was not recorded lowers nobody's confidence in the steps of another.
TEST(Losses, ProcessesAreNoEvents) {
  const std::vector<Loss> losses = {{ThreadId::kNone, kUnrecordedProcess, 2},
                                    {ThreadId::kNone, kOutlivingProcess, 1}};
  EXPECT_EQ(lost_events(losses), 0);
  EXPECT_FALSE(nothing_lost(losses));
  EXPECT_EQ(losses_text(losses, false), "lost: 1 process left running, 2 processes not recorded");
  EXPECT_EQ(lost_events({{ThreadId(1), "op", 3}, losses[0]}), 3);
}

std::string passage(const char* page, const std::string& from, const std::string& to) {
  std::stringstream text;
  text << std::ifstream(testing::source_folder() / page).rdbuf();
  const std::size_t begin = text.str().find(from);
  EXPECT_NE(begin, std::string::npos) << page;
  return text.str().substr(begin, text.str().find(to, begin) - begin);
}

void add_matches(const std::string& text, const char* pattern, std::set<std::string>& words) {
  const std::regex expression(pattern);
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    words.insert((*it)[1]);
}

// A kind that has no words would be shown by its name in the store.
TEST(Losses, HaveWordsForEveryKindThatTheDocumentationNames) {
  std::set<std::string> kinds;
  add_matches(passage("docs/schema.md", "`loss` counts what happened", "[Imports]"),
              "`([a-z_]+)`(?=:|, `)", kinds);
  add_matches(passage("docs/import.md", "Events that make no sense are counted", "\n\nA file that"),
              "\n[|] `([a-z_]+)` [|]", kinds);
  EXPECT_GE(kinds.size(), 13u);
  for (const std::string& kind : kinds)
    EXPECT_EQ(loss_text(kind, 2).find("of kind"), std::string::npos) << kind;
}

}  // namespace
}  // namespace stepscope
