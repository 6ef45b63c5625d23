// Which native library an address of a process is in.
#include "profiler/stacks/library_map.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope {
namespace {

constexpr char kMaps[] =
    "55d0-55e0 r-xp 00000000 08:01 7   /usr/bin/python3.11\n"
    "7000-7100 r--p 00000000 08:01 8   /venv/site-packages/numpy.libs/libopenblas.so\n"
    "7100-7200 r-xp 00001000 08:01 8   /venv/site-packages/numpy.libs/libopenblas.so\n"
    "7300-7400 r-xp 00001000 08:01 9   /venv/site-packages/torch/lib/libtorch_cpu.so\n"
    "7500-7600 rwxp 00000000 00:00 0 \n"
    "7f00-7f10 r-xp 00000000 00:00 0   [vdso]\n";

TEST(LibraryMap, NamesTheLibraryOfAnAddress) {
  LibraryMap map;
  EXPECT_TRUE(map.may_be_old({})) << "nothing was read";
  const auto now = LibraryMap::Clock::now();
  map.set(kMaps, now);
  EXPECT_EQ(map.library_at(0x7100), "/venv/site-packages/numpy.libs/libopenblas.so");
  EXPECT_EQ(map.library_at(0x71ff), "/venv/site-packages/numpy.libs/libopenblas.so");
  for (const std::uint64_t address : {0x7050, 0x7200, 0x7650, 0x0, 0x9000}) {
    EXPECT_FALSE(map.knows(address)) << std::hex << address;
    EXPECT_EQ(map.library_at(address), "") << std::hex << address;
  }
  for (const std::uint64_t address : {0x55d0, 0x7350, 0x7550, 0x7f00}) {
    EXPECT_TRUE(map.knows(address)) << std::hex << address;
    EXPECT_EQ(map.library_at(address), "") << std::hex << address;
  }
  EXPECT_FALSE(map.may_be_old(now));
  EXPECT_TRUE(map.may_be_old(now + LibraryMap::kMinAge));
}

TEST(LibraryMap, InterpreterAndTorchAreBaseCode) {
  for (const char* path : {"/usr/bin/python3.11", "/lib/libpython3.11.so.1.0", "/lib/libc.so.6",
                           "/v/site-packages/torch/lib/libtorch_python.so", "/o/libc10.so",
                           "/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64.so"})
    EXPECT_TRUE(is_base_code(path)) << path;
  for (const char* path : {"/v/site-packages/numpy/_core/_multiarray_umath.cpython-311.so",
                           "/usr/lib/libopenblas.so.0", "/v/site-packages/torchvision/_C.so"})
    EXPECT_FALSE(is_base_code(path)) << path;
}

}  // namespace
}  // namespace stepscope
