#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <stdexcept>
#include <string>

#include "samples/cpp/mnist/idx.h"
#include "tests/samples/temp_folder.h"

namespace mnist {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Idx : public ::testing::Test {
 protected:
  // A file of these bytes.
  std::filesystem::path file_of(const std::string& bytes) {
    const std::filesystem::path file = folder_.path() / "images";
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  // What read_idx() throws for these bytes.
  std::string complaint_about(const std::string& bytes) {
    const std::filesystem::path file = file_of(bytes);
    try {
      read_idx(file);
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
      return error.what();
    }
    return "";
  }

  TempFolder folder_;
};

std::string header(std::initializer_list<unsigned char> bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST_F(Idx, ReadsBigEndianSizes) {
  const IdxArray array =
      read_idx(file_of(header({0, 0, 8, 2, 0, 0, 1, 2, 0, 0, 0, 1}) + std::string(258, '\7')));
  EXPECT_THAT(array.shape, ElementsAre(258, 1));
  EXPECT_EQ(array.bytes, std::vector<std::uint8_t>(258, 7));
}

TEST_F(Idx, ReadsWhatItWrote) {
  const std::filesystem::path file = folder_.path() / "written";
  write_idx(file, {{2, 3}, {0, 1, 2, 253, 254, 255}});
  const IdxArray array = read_idx(file);
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_THAT(array.bytes, ElementsAre(0, 1, 2, 253, 254, 255));
}

TEST_F(Idx, ReadsGzip) {
  const std::filesystem::path file = folder_.path() / "labels.gz";
  const std::string bytes = header({0, 0, 8, 1, 0, 0, 0, 3, 9, 8, 7});
  gzFile out = gzopen(file.c_str(), "wb");
  ASSERT_EQ(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(out);
  EXPECT_THAT(read_idx(file).bytes, ElementsAre(9, 8, 7));
}

TEST_F(Idx, RefusesTruncatedGzip) {
  const std::filesystem::path file = folder_.path() / "labels.gz";
  std::string bytes = header({0, 0, 8, 1, 0, 0, 16, 0});
  for (int i = 0; i < 4096; ++i) bytes.push_back(static_cast<char>(i * i % 251));
  gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THROW(read_idx(file), std::runtime_error);
}

TEST_F(Idx, SaysWhatIsWrong) {
  const std::string shape = header({0, 0, 8, 1, 0, 0, 0, 3});
  EXPECT_THAT(complaint_about(""), HasSubstr("no IDX file"));
  EXPECT_THAT(complaint_about("PNG image"), HasSubstr("no IDX file"));
  EXPECT_THAT(complaint_about(header({0, 0, 13, 1, 0, 0, 0, 0})), HasSubstr("type 13"));
  EXPECT_THAT(complaint_about(header({0, 0, 8, 0})), HasSubstr("0 dimensions"));
  EXPECT_THAT(complaint_about(header({0, 0, 8, 3, 0, 0, 0, 1})),
              HasSubstr("ends within its header"));
  EXPECT_THAT(complaint_about(shape + "ab"), HasSubstr("promises 3 bytes of data, it has 2"));
  EXPECT_THAT(complaint_about(shape + "abcd"), HasSubstr("goes on after the 3 bytes"));
}

TEST_F(Idx, AHeaderThatLiesAllocatesNothing) {
  const std::string lie = header({0, 0, 8, 2, 255, 255, 255, 255, 0, 255, 255, 255});
  EXPECT_THAT(complaint_about(lie + "ab"), HasSubstr("cut short"));
  const std::string overflow =
      header({0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  EXPECT_THAT(complaint_about(overflow), HasSubstr("larger than memory"));
}

TEST_F(Idx, SaysThatAFileIsNotThere) {
  EXPECT_THROW(
      {
        try {
          read_idx(folder_.path() / "nothing");
        } catch (const std::runtime_error& error) {
          EXPECT_THAT(error.what(), HasSubstr("No such file"));
          throw;
        }
      },
      std::runtime_error);
}

}  // namespace
}  // namespace mnist
