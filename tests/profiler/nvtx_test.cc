// NVTX's side is played here: tables of function pointers, of an old library and of a new one.
#include "profiler/preload/nvtx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "profiler/session/session.h"
#include "store/trace_reader.h"

namespace stepscope::nvtx {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A program's NVTX: what its calls go to once a tool has filled the tables.
struct Client {
  Client() {
    for (std::size_t i = 0; i < core.size(); ++i) core_table[i] = &core[i];
    for (std::size_t i = 0; i < core2.size(); ++i) core2_table[i] = &core2[i];
  }
  std::array<Function, 16> core{};
  std::array<Function, 16> core2{};
  std::array<Function*, 16> core_table{};
  std::array<Function*, 16> core2_table{};
  unsigned core2_size = 16;

  int push(const char* name) { return as<int(const char*)>(core[kRangePushA])(name); }
  int push(const EventAttributes& event) {
    return as<int(const EventAttributes*)>(core[kRangePushEx])(&event);
  }
  int pop() { return as<int()>(core[kRangePop])(); }
  const void* make_domain(const char* name) {
    return as<const void*(const char*)>(core2[kDomainCreateA])(name);
  }
  const void* register_text(const void* domain, const char* text) {
    return as<const void*(const void*, const char*)>(core2[kDomainRegisterStringA])(domain, text);
  }
  int push(const void* domain, const EventAttributes& event) {
    return as<int(const void*, const EventAttributes*)>(core2[kDomainRangePushEx])(domain, &event);
  }
  int pop(const void* domain) { return as<int(const void*)>(core2[kDomainRangePop])(domain); }

 private:
  template <typename Signature>
  static Signature* as(Function function) {
    return reinterpret_cast<Signature*>(function);
  }
};
Client* client;

int module_table(int module, Function*** table, unsigned* size) {
  switch (static_cast<Module>(module)) {
    case Module::kCore:
      *table = client->core_table.data();
      *size = static_cast<unsigned>(client->core_table.size());
      return 1;
    case Module::kCore2:
      *table = client->core2_table.data();
      *size = client->core2_size;
      return client->core2_size == 0 ? 0 : 1;
  }
  return 0;
}
constexpr ExportTableCallbacks kTables{sizeof(ExportTableCallbacks), module_table};
const void* tables(std::uint32_t id) { return id == kCallbacks ? &kTables : nullptr; }

EventAttributes event_of(std::int32_t type, const void* message) {
  EventAttributes event{};
  event.message_type = type;
  event.message = static_cast<const char*>(message);
  return event;
}

class NvtxTest : public testing::Test {
 protected:
  NvtxTest() {
    client = &client_;
    path_ = testing::TempDir() + "/nvtx-" + std::to_string(getpid()) + ".db";
    EXPECT_TRUE(inject(tables));
  }
  ~NvtxTest() override {
    (void)Session::get().stop();
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".old");
  }
  void start() {
    options_.output = path_.c_str();
    options_.record_ops = 1;
    const Status status = Session::get().start(options_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // The ranges recorded, in the order of their ends, each with its depth.
  std::vector<std::string> recorded() {
    EXPECT_TRUE(Session::get().stop().ok());
    std::vector<std::string> names;
    const auto reader = TraceReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    const Status status = (*reader)->for_each_op([&](const Op& op) {
      EXPECT_EQ(op.scope, OpScope::kUser);
      names.push_back(std::string((*reader)->text(op.name)) + " " + std::to_string(op.depth));
      return true;
    });
    EXPECT_TRUE(status.ok());
    return names;
  }

  Client client_;
  std::string path_;
  stepscope_options options_{};
};

TEST_F(NvtxTest, RangesAreUserScopesThatNest) {
  start();
  EXPECT_EQ(client_.push("epoch"), 0);
  EXPECT_EQ(client_.push("load"), 1);
  EXPECT_EQ(client_.pop(), 1);
  EXPECT_EQ(client_.pop(), 0);
  EXPECT_THAT(recorded(), ElementsAre("load 1", "epoch 0"));
}

TEST_F(NvtxTest, TextsAreTakenFromEventsAndRegistrations) {
  start();
  const void* domain = client_.make_domain("data");
  std::string text = "decode";
  const void* registered = client_.register_text(domain, text.c_str());
  EXPECT_EQ(client_.register_text(domain, "decode"), registered);
  text = "gone";
  client_.push(domain, event_of(kRegisteredMessage, registered));
  client_.push(event_of(kAsciiMessage, "resize"));
  client_.pop();
  client_.pop(domain);
  EXPECT_THAT(recorded(), ElementsAre("resize 1", "decode 0"));
}

TEST_F(NvtxTest, DomainsNeedNotNestInOneAnother) {
  start();
  const void* domain = client_.make_domain("data");
  client_.push("outer");
  client_.push(domain, event_of(kAsciiMessage, "other"));
  EXPECT_EQ(client_.pop(), 1);
  EXPECT_EQ(client_.pop(domain), 0);
  EXPECT_THAT(recorded(), ElementsAre("outer 0", "other 0"));
}

TEST_F(NvtxTest, APopWithoutAPushDoesNothing) {
  start();
  EXPECT_EQ(client_.pop(), kNoPushPopTracking);
  client_.push("range");
  EXPECT_EQ(client_.pop(client_.make_domain("another")), kNoPushPopTracking);
  client_.pop();
  EXPECT_THAT(recorded(), ElementsAre("range 0"));
}

TEST_F(NvtxTest, WhatHasNoReadableTextIsCountedAndNotRecorded) {
  start();
  constexpr std::int32_t kWide = 2;
  EXPECT_EQ(client_.push(event_of(kWide, L"wide")), 0);
  EXPECT_EQ(client_.push(static_cast<const char*>(nullptr)), 1);
  EXPECT_EQ(client_.push("readable"), 2);
  for (int depth = 2; depth >= 0; --depth) EXPECT_EQ(client_.pop(), depth);
  EXPECT_THAT(recorded(), ElementsAre("readable 0"));
}

TEST_F(NvtxTest, DepthIsBounded) {
  start();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client_.push("deep"), i);
  for (int i = 99; i >= 0; --i) EXPECT_EQ(client_.pop(), i);
  EXPECT_EQ(recorded().size(), 64U);
}

TEST_F(NvtxTest, OutsideARecordingNothingIsRecorded) {
  client_.push("before");
  start();
  client_.pop();
  EXPECT_THAT(recorded(), IsEmpty());
  client_.push("after");
  client_.pop();
}

TEST_F(NvtxTest, OutsideTheWindowNothingIsRecorded) {
  options_.first_step = 5;
  options_.last_step = 6;
  start();
  client_.push("too early");
  client_.pop();
  EXPECT_THAT(recorded(), IsEmpty());
}

TEST_F(NvtxTest, EachThreadHasItsOwn) {
  start();
  client_.push("here");
  std::thread([this] {
    EXPECT_EQ(client_.push("there"), 0);
    client_.pop();
  }).join();
  client_.pop();
  EXPECT_THAT(recorded(), testing::UnorderedElementsAre("there 0", "here 0"));
}

TEST_F(NvtxTest, AnOldLibraryHasNoDomains) {
  Client old;
  old.core2_size = 0;
  client = &old;
  EXPECT_TRUE(inject(tables));
  EXPECT_NE(old.core[kRangePop], nullptr);
  EXPECT_EQ(old.core2[kDomainRangePop], nullptr);
}

TEST_F(NvtxTest, WithoutTablesItIsNotUsed) {
  EXPECT_FALSE(inject([](std::uint32_t) -> const void* { return nullptr; }));
}

}  // namespace
}  // namespace stepscope::nvtx
