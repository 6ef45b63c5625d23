#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include "samples/cpp/mnist/dataset.h"
#include "samples/cpp/mnist/digits.h"
#include "tests/samples/temp_folder.h"

namespace mnist {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class DatasetTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  TempFolder cache_;
};

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST_F(DatasetTest, IsDrawnOnceIntoTheUsersCache) {
  const fs::path folder = drawn_dataset({30, 20});
  EXPECT_THAT(folder.string(), HasSubstr(cache_.path().string()));
  const auto made = fs::last_write_time(folder / "train-images-idx3-ubyte");
  EXPECT_EQ(drawn_dataset({30, 20}), folder);
  EXPECT_EQ(fs::last_write_time(folder / "train-images-idx3-ubyte"), made);

  const Dataset dataset = load_dataset(folder);
  EXPECT_EQ(dataset.train.size(), 30U);
  EXPECT_EQ(dataset.test.size(), 20U);
  EXPECT_EQ(dataset.train.rows(), 28U);
}

TEST_F(DatasetTest, TestImagesAreNotThoseOfTheTraining) {
  const Dataset dataset = load_dataset(drawn_dataset({20, 20}));
  EXPECT_NE(dataset.train.images.bytes, dataset.test.images.bytes);
}

TEST_F(DatasetTest, LeavesNothingHalfMade) {
  drawn_dataset({5, 5});
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(cache_.path() / "stepscope"))
    ++entries;
  EXPECT_EQ(entries, 1U);
}

TEST_F(DatasetTest, SaysWhereItCannotBeKept) {
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  EXPECT_THAT(complaint([] { drawn_dataset({5, 5}); }), HasSubstr("/proc/nowhere"));
}

TEST_F(DatasetTest, NamesTheFileThatIsMissing) {
  const fs::path folder = drawn_dataset({5, 5});
  fs::remove(folder / "t10k-labels-idx1-ubyte");
  EXPECT_THAT(complaint([&] { load_dataset(folder); }),
              HasSubstr("holds no t10k-labels-idx1-ubyte"));
}

TEST_F(DatasetTest, RefusesImagesAndLabelsThatDoNotBelongTogether) {
  const fs::path folder = drawn_dataset({5, 5});
  const auto complaint_with_labels = [&](const IdxArray& labels) {
    write_idx(folder / "train-labels-idx1-ubyte", labels);
    return complaint([&] { load_dataset(folder); });
  };
  EXPECT_THAT(complaint_with_labels({{4}, {1, 2, 3, 4}}), HasSubstr("5 images, but 4 labels"));
  EXPECT_THAT(complaint_with_labels({{5}, {1, 2, 3, 4, 10}}), HasSubstr("label above 9"));
  EXPECT_THAT(complaint_with_labels({{5, 1}, {1, 2, 3, 4, 5}}), HasSubstr("holds no labels"));
  EXPECT_EQ(complaint_with_labels({{5}, {1, 2, 3, 4, 5}}), "");
}

}  // namespace
}  // namespace mnist
