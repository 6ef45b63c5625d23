#include "viewer-export/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "store/remove_on_signal.h"
#include "tests/store/testing/synthetic_run.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using testing::TempDir;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

std::size_t file_count(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

TEST(OutputFile, AppearsUnderItsNameWhenItIsWhole) {
  const TempDir dir;
  const auto file = OutputFile::create(dir / "t.json");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write("abc").ok());
  EXPECT_FALSE(fs::exists(dir / "t.json"));
  ASSERT_TRUE((*file)->finish().ok());
  EXPECT_EQ(content(dir / "t.json"), "abc");
  EXPECT_EQ(file_count(dir.path()), 1u);
}

TEST(OutputFile, AFailedExportKeepsTheEarlierFileAndLeavesNothing) {
  const TempDir dir;
  put(dir / "t.json", "earlier");
  {
    const auto file = OutputFile::create(dir / "t.json");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->write("half").ok());
  }
  EXPECT_EQ(content(dir / "t.json"), "earlier");
  EXPECT_EQ(file_count(dir.path()), 1u);
}

TEST(OutputFile, ReplacesAnEarlierFile) {
  const TempDir dir;
  put(dir / "t.json", "earlier, and longer");
  const auto file = OutputFile::create(dir / "t.json");
  ASSERT_TRUE(file.ok() && (*file)->write("new").ok() && (*file)->finish().ok());
  EXPECT_EQ(content(dir / "t.json"), "new");
}

TEST(OutputFile, FollowsASymbolicLink) {
  const TempDir dir;
  put(dir / "real.json", "earlier");
  fs::create_symlink("real.json", dir / "link.json");
  const auto file = OutputFile::create(dir / "link.json");
  ASSERT_TRUE(file.ok() && (*file)->write("new").ok() && (*file)->finish().ok());
  EXPECT_TRUE(fs::is_symlink(dir / "link.json"));
  EXPECT_EQ(content(dir / "real.json"), "new");
}

TEST(OutputFile, FollowsALinkToAFileThatIsNotThereYet) {
  const TempDir dir;
  fs::create_symlink("real.json", dir / "link.json");
  const auto file = OutputFile::create(dir / "link.json");
  ASSERT_TRUE(file.ok() && (*file)->write("new").ok() && (*file)->finish().ok());
  EXPECT_TRUE(fs::is_symlink(dir / "link.json"));
  EXPECT_EQ(content(dir / "real.json"), "new");
}

// As a shell opens it for `>>`, or for all commands of a group.
TEST(OutputFile, AnOpenFileIsWrittenWhereItStands) {
  const TempDir dir;
  put(dir / "log", "earlier\n");
  const int fd = ::open((dir / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string number = std::to_string(fd);
  fs::create_symlink("/dev/fd/" + number, dir / "link");
  for (const fs::path& path :
       {fs::path("/dev/fd/" + number), fs::path("/proc/self/fd/" + number), dir / "link"}) {
    const auto file = OutputFile::create(path);
    ASSERT_TRUE(file.ok()) << path;
    EXPECT_TRUE((*file)->write("new\n").ok() && (*file)->finish().ok()) << path;
    EXPECT_FALSE((*file)->appears());
  }
  ASSERT_EQ(::write(fd, "last\n", 5), 5) << "it is still open";
  ::close(fd);
  EXPECT_EQ(content(dir / "log"), "earlier\nnew\nnew\nnew\nlast\n");
  EXPECT_EQ(OutputFile::create("/dev/fd/" + number).status().kind(), ErrorKind::kIo) << "closed";
}

TEST(OutputFile, StandardOutputIsRecognisedByItsNames) {
  const TempDir dir;
  fs::create_symlink("/dev/stdout", dir / "link");
  for (const fs::path& path : {fs::path("-"), fs::path("/dev/stdout"), dir / "link"})
    EXPECT_TRUE(is_standard_output(path)) << path;
  EXPECT_FALSE(is_standard_output("/dev/stderr"));
  EXPECT_FALSE(is_standard_output(dir / "new"));
}

TEST(OutputFile, APipeIsWrittenThroughItsDescriptor) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto file = OutputFile::create("/dev/fd/" + std::to_string(ends[1]));
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE((*file)->write("new").ok() && (*file)->finish().ok());
  char read_back[8] = {};
  EXPECT_EQ(::read(ends[0], read_back, sizeof(read_back)), 3);
  EXPECT_STREQ(read_back, "new");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(OutputFile, FollowsNoLinkThatAnotherUserHasPlanted) {
  constexpr uid_t kOther = 65534;
  const TempDir dir;
  fs::permissions(dir.path(), fs::perms::all | fs::perms::sticky_bit);
  fs::create_symlink("real.json", dir / "link.json");
  if (::lchown((dir / "link.json").c_str(), kOther, static_cast<gid_t>(-1)) != 0)
    GTEST_SKIP() << "only root can give a link to another user";
  const auto file = OutputFile::create(dir / "link.json");
  EXPECT_EQ(file.status().kind(), ErrorKind::kIo);
  EXPECT_THAT(file.status().message(), ::testing::HasSubstr("is a link that another user made"));
  EXPECT_EQ(file_count(dir.path()), 1u);
}

// Root may write anything, so it becomes another user.
[[noreturn]] void replace_write_protected(const fs::path& path) {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0 && ::seteuid(kNobody) != 0) _exit(2);
  _exit(OutputFile::create(path).ok() ? 1 : 0);
}

TEST(OutputFile, KeepsAFileThatTheUserMayNotWrite) {
  const TempDir dir;
  fs::permissions(dir.path(), fs::perms::all);
  put(dir / "t.json", "earlier");
  fs::permissions(dir / "t.json", fs::perms::owner_read);
  EXPECT_EXIT(replace_write_protected(dir / "t.json"), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(file_count(dir.path()), 1u);
}

TEST(OutputFile, AFileThatIsReplacedKeepsItsGroup) {
  constexpr gid_t kOther = 65534;
  const TempDir dir;
  put(dir / "t.json", "earlier");
  if (::chown((dir / "t.json").c_str(), static_cast<uid_t>(-1), kOther) != 0)
    GTEST_SKIP() << "only root can give a file to another group";
  const auto file = OutputFile::create(dir / "t.json");
  ASSERT_TRUE(file.ok() && (*file)->write("new").ok() && (*file)->finish().ok());
  struct stat now{};
  ASSERT_EQ(::stat((dir / "t.json").c_str(), &now), 0);
  EXPECT_EQ(now.st_gid, kOther);
}

TEST(OutputFile, NeverReplacesADatabaseOrAFolder) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  const auto before = content(dir / "run.db");
  const auto store = OutputFile::create(dir / "run.db");
  EXPECT_EQ(store.status().kind(), ErrorKind::kBadInput);
  EXPECT_EQ(content(dir / "run.db"), before);
  EXPECT_EQ(OutputFile::create(dir.path()).status().kind(), ErrorKind::kBadInput);
}

TEST(OutputFile, NeverReplacesTheLogOfADatabase) {
  const TempDir dir;
  testing::make_store(dir / "run.db", {});
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    const auto log = OutputFile::create((dir / "run.db").string() + suffix);
    EXPECT_THAT(log.status().message(), ::testing::HasSubstr("belongs to the database")) << suffix;
  }
  EXPECT_TRUE(OutputFile::create(dir / "trace.json-wal").ok()) << "no database is beside it";
}

TEST(OutputFile, NeverReplacesWhatItIsMadeFrom) {
  const TempDir dir;
  put(dir / "trace.json", "{}");
  fs::create_symlink("trace.json", dir / "link.json");
  for (const char* output : {"trace.json", "link.json", "./trace.json"}) {
    const auto file = OutputFile::create(dir / output, {dir / "none.json", dir / "trace.json"});
    EXPECT_EQ(file.status().kind(), ErrorKind::kUsage) << output;
    EXPECT_THAT(file.status().message(), ::testing::EndsWith("is both input and output"));
  }
  EXPECT_EQ(content(dir / "trace.json"), "{}");
  EXPECT_EQ(file_count(dir.path()), 2u);
}

TEST(OutputFile, NeedsAName) {
  EXPECT_EQ(OutputFile::create("").status().message(), "the name of the output is empty");
}

TEST(OutputFile, AFileThatIsReplacedKeepsItsPermissions) {
  const TempDir dir;
  put(dir / "t.json", "earlier");
  fs::permissions(dir / "t.json", fs::perms::owner_read | fs::perms::owner_write);
  const auto file = OutputFile::create(dir / "t.json");
  ASSERT_TRUE(file.ok() && (*file)->write("new").ok() && (*file)->finish().ok());
  EXPECT_EQ(fs::status(dir / "t.json").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// Ends the process by the signal.
[[noreturn]] void end_while_writing(const fs::path& path, int signal) {
  std::signal(signal, SIG_DFL);
  const auto file = OutputFile::create(path);
  if (!file.ok() || !(*file)->write("half").ok()) _exit(1);
  std::raise(signal);
  _exit(2);
}

TEST(OutputFile, ASignalThatEndsTheProgramLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    const TempDir dir;
    EXPECT_EXIT(end_while_writing(dir / "t.json", signal), ::testing::KilledBySignal(signal), "");
    EXPECT_EQ(file_count(dir.path()), 0u);
  }
}

// To both threads, as timeout(1) sends its signal to the program and to its group.
[[noreturn]] void end_by_many_signals(const fs::path& path) {
  std::signal(SIGTERM, SIG_DFL);
  remove_on_signal(path);
  std::thread sends([] {
    while (true) ::kill(::getpid(), SIGTERM);
  });
  sends.join();
  _exit(1);
}

TEST(OutputFile, ASignalThatComesTwiceLeavesNothing) {
  const TempDir dir;
  fs::create_directory(dir / "many");
  for (int i = 0; i < 1000; ++i) put(dir / "many" / std::to_string(i), "");
  EXPECT_EXIT(end_by_many_signals(dir / "many"), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EQ(file_count(dir.path()), 0u);
}

TEST(OutputFile, AFolderThatIsNotThereIsOneClearLine) {
  const auto file = OutputFile::create("/no/such/folder/t.json");
  EXPECT_EQ(file.status().kind(), ErrorKind::kIo);
  EXPECT_EQ(file.status().message(),
            "/no/such/folder/t.json: cannot be written: No such file or directory");
}

TEST(OutputFile, DevicesAreWrittenInPlace) {
  const auto null = OutputFile::create("/dev/null");
  ASSERT_TRUE(null.ok() && (*null)->write("x").ok() && (*null)->finish().ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const auto full = OutputFile::create("/dev/full");
  ASSERT_TRUE(full.ok());
  EXPECT_EQ((*full)->write("x").message(), "/dev/full: cannot be written: No space left on device");
}

// Ends the process: the limit would hold for every test after this one.
[[noreturn]] void write_more_than_fits(const fs::path& path) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{4096, 4096};
  setrlimit(RLIMIT_FSIZE, &limit);
  Status status;
  {
    const auto file = OutputFile::create(path);
    for (int i = 0; i < 10 && status.ok(); ++i) status = (*file)->write(std::string(1000, 'x'));
  }
  std::fprintf(stderr, "%s\n", status.message().c_str());
  _exit(status.kind() == ErrorKind::kIo ? 0 : 1);
}

TEST(OutputFile, AFullDiskKeepsTheEarlierFile) {
  const TempDir dir;
  put(dir / "t.json", "earlier");
  EXPECT_EXIT(write_more_than_fits(dir / "t.json"), ::testing::ExitedWithCode(0),
              "cannot be written: File too large");
  EXPECT_EQ(content(dir / "t.json"), "earlier");
  EXPECT_EQ(file_count(dir.path()), 1u);
}

}  // namespace
}  // namespace stepscope
