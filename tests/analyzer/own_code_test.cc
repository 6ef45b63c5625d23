// Which frames of a stack are the program's own.
#include "analyzer/lines/own_code.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

constexpr const char* kLoader = "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py";
constexpr const char* kProcess = "/usr/lib/python3.11/multiprocessing/process.py";

class OwnCodeTest : public ::testing::Test {
 protected:
  FrameId frame(FrameId caller, const std::string& file, const std::string& function) {
    frames_.push_back({caller, intern(function), intern(file), 1});
    return static_cast<FrameId>(frames_.size());
  }
  OwnCode code() const {
    return {frames_, [this](StringId id) -> std::string_view {
              return strings_[static_cast<std::size_t>(id)];
            }};
  }

 private:
  StringId intern(const std::string& text) {
    for (std::size_t i = 0; i < strings_.size(); ++i) {
      if (strings_[i] == text) return static_cast<StringId>(i);
    }
    strings_.push_back(text);
    return static_cast<StringId>(strings_.size() - 1);
  }

  std::vector<std::string> strings_{""};
  std::vector<StackFrame> frames_;
};

TEST_F(OwnCodeTest, AStackIsInItsInnermostFrameOfTheProgram) {
  const FrameId main = frame(FrameId::kNone, "/src/train.py", "main");
  const FrameId next = frame(main, kLoader, "__next__");
  const FrameId fetch = frame(next, kLoader, "fetch");
  const FrameId item = frame(fetch, "/src/data.py", "__getitem__");
  const FrameId decode = frame(item, "/venv/lib/python3.11/site-packages/PIL/Image.py", "load");
  const OwnCode own = code();
  EXPECT_EQ(own.of(main).own, main);
  EXPECT_EQ(own.of(fetch).own, main) << "that called the library";
  EXPECT_EQ(own.of(fetch).innermost, fetch);
  EXPECT_EQ(own.of(item).own, item);
  EXPECT_EQ(own.of(decode).own, item);
  EXPECT_EQ(own.of(decode).innermost, decode);
}

TEST_F(OwnCodeTest, AStackOfLibrariesIsNobodys) {
  const FrameId thread = frame(FrameId::kNone, "/usr/lib/python3.11/threading.py", "_bootstrap");
  const FrameId pin = frame(thread, kLoader, "pin_memory");
  EXPECT_EQ(code().of(pin).own, FrameId::kNone);
  EXPECT_EQ(code().of(pin).innermost, pin);
}

// A forked worker has the frames of the loop that started it.
TEST_F(OwnCodeTest, AWorkerIsNotInWhatStartedIt) {
  const FrameId main = frame(FrameId::kNone, "/src/train.py", "main");
  const FrameId start = frame(main, kProcess, "BaseProcess.start");
  const FrameId begin = frame(start, kProcess, "BaseProcess._bootstrap");
  const FrameId run = frame(begin, kProcess, "BaseProcess.run");
  const FrameId fetch = frame(run, kLoader, "fetch");
  const FrameId item = frame(fetch, "/src/data.py", "__getitem__");
  const FrameId of_310 = frame(start, kProcess, "_bootstrap");  // without its class
  const OwnCode own = code();
  EXPECT_EQ(own.of(start).own, main) << "the loop itself, while it starts one";
  EXPECT_EQ(own.of(begin).own, FrameId::kNone);
  EXPECT_EQ(own.of(fetch).own, FrameId::kNone);
  EXPECT_EQ(own.of(item).own, item);
  EXPECT_EQ(own.of(of_310).own, FrameId::kNone);
}

TEST_F(OwnCodeTest, AProgramsOwnBootstrapIsNoWorkers) {
  const FrameId main = frame(FrameId::kNone, "/src/train.py", "main");
  const FrameId begin = frame(main, "/src/process.py", "_bootstrap");
  const FrameId queue = frame(begin, "/usr/lib/python3.11/queue.py", "get");
  EXPECT_EQ(code().of(queue).own, begin);
}

TEST_F(OwnCodeTest, CellsOfANotebookAreTheProgramsOwn) {
  const FrameId kernel =
      frame(FrameId::kNone, "/venv/lib/python3.11/site-packages/ipykernel/kernelapp.py", "start");
  const FrameId shell =
      frame(kernel, "/venv/lib/python3.11/site-packages/IPython/core/shell.py", "run_code");
  const FrameId cell = frame(shell, "/tmp/ipykernel_12/3735.py", "<module>");
  EXPECT_EQ(code().of(cell).own, cell);
}

TEST(ShortFile, IsWhatPeopleCallIt) {
  EXPECT_EQ(short_file(kLoader), "torch/utils/data/dataloader.py");
  EXPECT_EQ(short_file("/usr/lib/python3/dist-packages/PIL/Image.py"), "PIL/Image.py");
  EXPECT_EQ(short_file("/a/site-packages/b/site-packages/c.py"), "c.py");
  EXPECT_EQ(short_file("/src/project/data.py"), "project/data.py");
  EXPECT_EQ(short_file("project/data.py"), "project/data.py");
  for (const char* whole : {"data.py", "/data.py", "<string>", "", "/"})
    EXPECT_EQ(short_file(whole), whole);
}

TEST(IsLibraryFile, OfNativeCodeWhatBelongsToTheSystemOrLibtorchIs) {
  for (const char* file : {"/src/me/reader.cc", "/src/me/include/reader.h", "/src/me/train",
                           "/src/me/libread.so", "/usr/local/bin/train", "/src/lib/reader.cc"})
    EXPECT_FALSE(is_library_file(file)) << file;
  for (const char* file :
       {"/usr/lib/x86_64-linux-gnu/libjpeg.so.62", "/lib/x86_64-linux-gnu/libc.so.6",
        "/usr/include/c++/12/bits/stl_algo.h", "/opt/gcc/include/c++/14/vector",
        "/opt/libtorch/lib/libtorch_cpu.so", "/opt/libtorch/include/ATen/core/TensorBody.h",
        "/opt/libtorch/include/torch/csrc/api/include/torch/data/dataloader/base.h",
        "/opt/libtorch/include/c10/util/intrusive_ptr.h", "/opt/s/include/stepscope/input.h",
        "/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h", "[vdso]"})
    EXPECT_TRUE(is_library_file(file)) << file;
  EXPECT_EQ(short_file("/usr/lib/x86_64-linux-gnu/libjpeg.so.62"), "libjpeg.so.62");
  EXPECT_EQ(short_file("/v/site-packages/torch/lib/libtorch_cpu.so"), "libtorch_cpu.so");
}

TEST(IsLibraryFile, OnlyWhatIsInstalledIs) {
  EXPECT_FALSE(is_library_file(""));
  EXPECT_FALSE(is_library_file("/usr/lib/python3.11")) << "a file of that name";
  EXPECT_FALSE(is_library_file("/src/site-packages.py"));
  EXPECT_TRUE(is_library_file("<frozen importlib._bootstrap>"));
}

}  // namespace
}  // namespace stepscope
