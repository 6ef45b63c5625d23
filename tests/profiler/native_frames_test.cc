// Native call stacks: how they are taken, named and compared.
#include "profiler/stacks/native_frames.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "profiler/ring/stack_walk.h"
#include "profiler/stacks/memory_map.h"
#include "profiler/stacks/module_symbols.h"

namespace stepscope {
namespace {

TEST(ShortFunction, IsTheNameAlone) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"main", "main"},
      {"mnist::BatchMaker::decode(long) const", "mnist::BatchMaker::decode"},
      {"at::Tensor reader::decode<float>(at::Tensor const&)", "reader::decode"},
      {"(anonymous namespace)::next_batch(int)", "(anonymous namespace)::next_batch"},
      {"mnist::(anonymous namespace)::view_of(mnist::IdxArray const&)",
       "mnist::(anonymous namespace)::view_of"},
      {"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector::push_back"},
      {"f(int)::{lambda(long)#1}::operator()(long) const", "f::{lambda#1}::operator()"},
      {"A::operator<(A const&) const", "A::operator<"},
      {"A::operator bool() const", "A::operator bool"},
      {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"},
      {"decode(int) [clone .part.0]", "decode"},
      {"a>b", "a>b"},
  };
  for (const auto& [demangled, expected] : cases) EXPECT_EQ(short_function(demangled), expected);
}

TEST(MemoryMap, HoldsTheCodeOfEachFile) {
  const std::vector<MappedCode> code = mapped_code(
      "7f20-7f40 r-xp 00001000 08:01 12    /usr/lib/libz.so\n"
      "1000-2000 r-xp 00000000 08:01 12    /src/a folder/train\n"
      "2000-3000 rw-p 00001000 08:01 12    /src/a folder/train\n"
      "5000-6000 r-xp 00000000 00:00 0\n"
      "nonsense\n7000-6000 r-xp 0 0 0 /x\n\n8000-9000 r-x");
  ASSERT_EQ(code.size(), 3U);
  EXPECT_EQ(find_code(code, 0x1fff)->path, "/src/a folder/train");
  EXPECT_EQ(find_code(code, 0x7f20)->offset, 0x1000U);
  EXPECT_EQ(find_code(code, 0x5000)->path, "");
  for (const std::uint64_t outside : {0xfffU, 0x2000U, 0x7f40U})
    EXPECT_EQ(find_code(code, outside), nullptr) << outside;
}

using Stack = std::vector<NativeFrame>;
const NativeFrame kMain{"main", "train.cc", 10};
NativeFrame next_at(int line) { return {"next", "reader.cc", line}; }
NativeFrame decode_at(int line) { return {"decode", "reader.cc", line}; }
const NativeFrame kOp{"at::_ops::div::call", "libtorch_cpu.so", 0};

TEST(CommonFrames, AreThoseThatWereThereAllTheTime) {
  struct Case {
    const char* what;
    Stack begin, end, common;
  };
  const Case cases[] = {
      {"in one function",
       {kMain, decode_at(41), kOp},
       {kMain, decode_at(48), kOp},
       {kMain, decode_at(41)}},
      {"from one function to the next",
       {kMain, next_at(50), decode_at(41), kOp},
       {kMain, next_at(51), {"read", "reader.cc", 20}, kOp},
       {kMain, next_at(50)}},
      {"at one place",
       {kMain, decode_at(41), kOp},
       {kMain, decode_at(41), kOp},
       {kMain, decode_at(41), kOp}},
      {"back in the caller",
       {kMain, next_at(50), decode_at(41)},
       {kMain, next_at(50)},
       {kMain, next_at(50)}},
      {"in other functions of one line", {kMain, decode_at(41)}, {kMain, next_at(41)}, {kMain}},
      {"in one function without lines",
       {kMain, {"decode+0x1b", "train", 0}},
       {kMain, {"decode+0x4c", "train", 0}},
       {kMain, {"decode+0x1b", "train", 0}}},
      {"nothing in common", {decode_at(1)}, {kMain}, {}},
      {"no stack", {}, {kMain}, {}},
  };
  for (const Case& test : cases)
    EXPECT_EQ(common_frames(test.begin, test.end), test.common) << test.what;
}

TEST(IsLibraryModule, WhatIsInstalledIs) {
  EXPECT_TRUE(is_library_module("/usr/lib/x86_64-linux-gnu/libjpeg.so.62", {}));
  EXPECT_TRUE(is_library_module("/opt/libtorch/lib/libgomp.so.1", {"/opt/libtorch/lib/"}));
  EXPECT_TRUE(is_library_module("/opt/libtorch/lib/libc10.so", {}));
  EXPECT_FALSE(is_library_module("/src/me/train", {"/opt/libtorch/lib/"}));
  EXPECT_FALSE(is_library_module("/src/me/libreader.so", {}));
}

[[gnu::noinline]] std::uint32_t walk_here(std::array<std::uint64_t, 64>& addresses) {
  const std::uint32_t count = walk_stack(addresses);
  asm volatile("" ::: "memory");  // no tail call
  return count;
}

TEST(NativeFrames, NameTheCallersOfAStack) {
  if (!ModuleSymbols::are_supported()) GTEST_SKIP() << "built without libdw, or it is missing";
  std::array<std::uint64_t, 64> addresses{};
  const std::uint32_t count = walk_here(addresses);
  ASSERT_GT(count, 3U);
  NativeFrames frames(getpid(), OwnedFd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)));
  const Stack stack = frames.of(std::span(addresses).first(count));
  const auto found = std::ranges::find_if(stack, [](const NativeFrame& frame) {
    return frame.function.find("walk_here") != std::string::npos;
  });
  ASSERT_NE(found, stack.end());
  const auto main = std::ranges::find_if(
      stack, [](const NativeFrame& frame) { return frame.function.starts_with("main"); });
  EXPECT_LT(main, found) << "the outermost comes first";
}

TEST(NativeFrames, AddressesOfNoFileAreNobodys) {
  NativeFrames frames(getpid(), OwnedFd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)));
  const std::uint64_t nowhere[] = {8, ~std::uint64_t{0}};
  EXPECT_EQ(frames.of(nowhere), (Stack{{"", "", 0}, {"", "", 0}}));
  NativeFrames ended(getpid(), OwnedFd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  EXPECT_EQ(ended.of(std::span(nowhere).first(1)), (Stack{{"", "", 0}}));
}

// The dynamic loader is a small library that is there in every process.
std::vector<char> small_library() {
  Dl_info info{};
  const auto* base = reinterpret_cast<void*>(getauxval(AT_BASE));  // NOLINT: it is an address
  if (base == nullptr || dladdr(base, &info) == 0) return {};
  std::ifstream file(info.dli_fname, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A library may be replaced, or cut short, while it is read.
TEST(ModuleSymbols, ADamagedLibraryIsSurvived) {
  const std::vector<char> whole = small_library();
  if (whole.size() < 1000) GTEST_SKIP() << "no dynamic loader";
  const std::string path = testing::TempDir() + "damaged_library.so";
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<char> damaged = whole;
    if (round % 4 == 0) damaged.resize(random() % whole.size());
    // The headers, at both ends of the file, say where all else is.
    for (int i = 0; i < 20 && damaged.size() > 4000; ++i) {
      const std::size_t from_end = random() % 2 == 0 ? damaged.size() - 2000 : 16;
      damaged[from_end + random() % 2000] = static_cast<char>(random());
    }
    std::ofstream(path, std::ios::binary).write(damaged.data(), std::ssize(damaged));
    const ModuleSymbols symbols(path, true);
    for (const std::uint64_t offset : {std::uint64_t{0x2000}, std::uint64_t{random()}})
      EXPECT_EQ(symbols.at(offset).size(), 1U);
  }
  std::remove(path.c_str());
}

TEST(ModuleSymbols, OfAFileThatIsNoProgramNothingIsKnown) {
  const ModuleSymbols symbols("/etc/passwd", true);
  EXPECT_EQ(symbols.at(64), (Stack{{"", "", 0}}));
  EXPECT_EQ(ModuleSymbols("/nowhere", true).at(0), (Stack{{"", "", 0}}));
}

}  // namespace
}  // namespace stepscope
