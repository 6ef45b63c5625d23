// Names of files in commands that people copy.
#include "present/path_argument.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(PathArgument, OnlyWhatNeedsItIsQuoted) {
  EXPECT_EQ(path_argument("runs/run-1.db"), "runs/run-1.db");
  EXPECT_EQ(path_argument("sp ace.db"), "'sp ace.db'");
  EXPECT_EQ(path_argument("$HOME;x.db"), "'$HOME;x.db'");
  EXPECT_EQ(path_argument("it's.db"), R"('it'\''s.db')");
  EXPECT_EQ(path_argument("-o.db"), "./-o.db");
}

TEST(PathArgument, NothingControlsTheTerminal) {
  EXPECT_EQ(path_argument("a\x1b[31m.db").find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace stepscope
