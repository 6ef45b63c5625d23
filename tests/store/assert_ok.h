// Assertions on Status that print its message.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "store/status.h"

#define ASSERT_OK(expression)                         \
  do {                                                \
    const ::stepscope::Status status_ = (expression); \
    ASSERT_TRUE(status_.ok()) << status_.message();   \
  } while (false)

#define EXPECT_OK(expression)                         \
  do {                                                \
    const ::stepscope::Status status_ = (expression); \
    EXPECT_TRUE(status_.ok()) << status_.message();   \
  } while (false)

namespace stepscope {

// An error of `kind` whose one line names the file and says each of `parts`.
inline void expect_error(const Status& status, ErrorKind kind, const std::filesystem::path& file,
                         const std::vector<std::string>& parts = {}) {
  EXPECT_EQ(static_cast<int>(status.kind()), static_cast<int>(kind)) << status.message();
  const std::string& message = status.message();
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.find(file.string()), std::string::npos) << message;
  for (const std::string& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "no '" << part << "' in: " << message;
  }
}

}  // namespace stepscope
