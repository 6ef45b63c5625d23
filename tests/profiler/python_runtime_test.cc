// Which CPython a process runs, and where its parts lie.
#include "profiler/stacks/python_runtime.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

TEST(PythonFiles, AreThoseThatMayHoldAnInterpreter) {
  const auto files = python_files(
      "55d0c0000000-55d0c0001000 r--p 00000000 08:01 11   /usr/bin/python3.11\n"
      "55d0c0001000-55d0c0002000 r-xp 00001000 08:01 11   /usr/bin/python3.11\n"
      "7f0000000000-7f0000001000 r--p 00000000 08:01 12   /opt/my envs/lib/libpython3.12.so.1.0\n"
      "7f1000000000-7f1000001000 r--p 00000000 08:01 13   /usr/lib/libc.so.6\n"
      "7f2000000000-7f2000001000 rw-p 00000000 00:00 0    [heap]\n"
      "nonsense\n"
      "7f3000000000-7f3000001000 r--p 00000000 08:01 14   /x/python/data.bin");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "/usr/bin/python3.11");
  EXPECT_EQ(files[0].begin, 0x55d0c0000000U);
  EXPECT_EQ(files[1].path, "/opt/my envs/lib/libpython3.12.so.1.0");
}

TEST(PythonFiles, AreEachToldOnceAndByTheirFirstByte) {
  const auto files = python_files(
      "7f0000001000-7f0000002000 r-xp 00001000 08:01 12   /lib/libpython3.12.so.1.0\n"
      "7f0000003000-7f0000004000 r--p 00000000 08:01 12   /lib/libpython3.12.so.1.0\n"
      "7f0000005000-7f0000006000 r--p 00000000 08:01 12   /lib/libpython3.12.so.1.0\n"
      "7f0000007000-7f0000008000 r--p 00000000 08:01 13   /bin/python3.12 (deleted)\n");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].begin, 0x7f0000003000U);
  EXPECT_EQ(files[1].path, "/bin/python3.12 (deleted)");
}

TEST(PythonFiles, OfNonsenseThereAreNone) {
  for (const char* maps :
       {"", "\n\n", "/python3", "7f00 /python3", "7f00-7f01 r--p /python3",
        "zz-zz r--p 00000000 08:01 12 /python3", "7f00-7f01 r--p zz 08:01 12 /python3",
        "7f00-7f01 r--p 00000000 08:01 12", "7f00-7f01 r--p 00000000 08:01 12 /"})
    EXPECT_TRUE(python_files(maps).empty()) << maps;
}

TEST(PythonVersionOf, IsInTheNameOfItsFile) {
  const auto version = python_version_of("/usr/lib/libpython3.11.so.1.0");
  ASSERT_TRUE(version);
  EXPECT_EQ(version->major, 3);
  EXPECT_EQ(version->minor, 11);
  EXPECT_EQ(python_version_of("/usr/bin/python3.10")->minor, 10);
  EXPECT_EQ(python_version_of("/usr/bin/python3"), std::nullopt);
  for (const char* path : {"/usr/bin/perl", "", "python", "python.", "python3.", "python3.x",
                           "python99999999999.1", "/python3.11/bin/perl"})
    EXPECT_EQ(python_version_of(path), std::nullopt) << path;
}

TEST(PythonSectionOf, IsNothingOfWhatIsNoInterpreter) {
  const testing::TempDir dir;
  EXPECT_EQ(python_section_of(dir / "missing"), std::nullopt);
  std::ofstream(dir / "text") << "#!/bin/sh\n";
  EXPECT_EQ(python_section_of(dir / "text"), std::nullopt);
  std::ofstream(dir / "short", std::ios::binary) << std::string("\177ELF\2\1\1", 7);
  EXPECT_EQ(python_section_of(dir / "short"), std::nullopt);
  EXPECT_EQ(python_section_of("/proc/self/exe"), std::nullopt) << "this test is no interpreter";
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(python_section_of(dir / "pipe"), std::nullopt) << "and nobody waits for it";
}

// Each number of its header made large, each of its first bytes cut off.
TEST(PythonSectionOf, IsNothingOfADamagedFile) {
  const testing::TempDir dir;
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string head(sizeof(Elf64_Ehdr) + 8 * sizeof(Elf64_Phdr), '\0');
  self.read(head.data(), static_cast<std::streamsize>(head.size()));
  ASSERT_TRUE(self);
  for (std::size_t size = 0; size <= sizeof(Elf64_Ehdr); ++size) {
    std::ofstream(dir / "cut", std::ios::binary) << head.substr(0, size);
    EXPECT_EQ(python_section_of(dir / "cut"), std::nullopt) << size;
  }
  for (std::size_t place = EI_NIDENT; place < sizeof(Elf64_Ehdr); ++place) {
    std::string damaged = head;
    damaged[place] = '\xff';
    std::ofstream(dir / "damaged", std::ios::binary) << damaged;
    EXPECT_EQ(python_section_of(dir / "damaged"), std::nullopt) << place;
  }
}

}  // namespace
}  // namespace stepscope
