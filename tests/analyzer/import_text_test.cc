// The bytes of a trace: numbers, strings, where objects end, how a document is cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "analyzer/import/decimal.h"
#include "analyzer/import/json_scan.h"
#include "analyzer/import/json_string.h"
#include "analyzer/import/trace_cutter.h"
#include "analyzer/import/trace_event.h"
#include "tests/analyzer/text_source.h"

namespace stepscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::TextSource;

TEST(Decimal, KeepsEachNanosecondOfAMicrosecondTime) {
  EXPECT_EQ(parse_microseconds("4429449912974.101"), 4429449912974101);
  EXPECT_EQ(parse_microseconds("1623142623460111"), 1623142623460111000);
  EXPECT_EQ(parse_microseconds("1709000000123456.789"), 1709000000123456789);  // a double has .75
  EXPECT_EQ(parse_microseconds("0.001"), 1);
  EXPECT_EQ(parse_microseconds("-2.5"), -2500);
  EXPECT_EQ(parse_microseconds("\"12.5\""), 12500);
  EXPECT_EQ(parse_microseconds("1.5e3"), 1500000);
  EXPECT_EQ(parse_microseconds("1500E-3"), 1500);
}

TEST(Decimal, RoundsWhatIsShorterThanANanosecond) {
  EXPECT_EQ(parse_microseconds("1.0004"), 1000);
  EXPECT_EQ(parse_microseconds("1.0005"), 1001);
  EXPECT_EQ(parse_microseconds("1.00049999999999999999999999"), 1000);
  EXPECT_EQ(parse_microseconds("1.0000000000000000000000000000000000000001"), 1000);
}

TEST(Decimal, TakesNoValueForWhatDoesNotFitOrIsNoNumber) {
  for (const char* text : {"", "-", ".", "e5", "1e", "1e99999", "abc", "1x", "\"", "\"\"", "null",
                           "9223372036854775808", "1e400", "99999999999999999999999"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_integer("9223372036854775807"), 9223372036854775807);
  EXPECT_EQ(parse_microseconds("9223372036854775807"), std::nullopt);
  EXPECT_EQ(parse_integer("0e400"), 0);
  EXPECT_EQ(parse_integer("1e-400"), 0);
}

std::string unescaped(std::string_view literal) {
  std::string buffer;
  return std::string(unescape_json(literal, buffer));
}

TEST(JsonString, ResolvesEscapesAndForgivesBrokenOnes) {
  EXPECT_EQ(unescaped(R"("aten::add")"), "aten::add");
  EXPECT_EQ(unescaped(R"("a\"b\\c\/\n\t")"), "a\"b\\c/\n\t");
  EXPECT_EQ(unescaped(R"("\u00e9\u4e2d")"), "é中");
  EXPECT_EQ(unescaped(R"("\ud83d\ude00")"), "😀");
  EXPECT_EQ(unescaped(R"("\ud83d")"), "\uFFFD");
  EXPECT_EQ(unescaped(R"("\ud83dx\u12")"), "\uFFFDx\\u12");
  EXPECT_EQ(unescaped(R"("\q")"), "\\q");
  EXPECT_EQ(unescaped("17"), "17");
  EXPECT_EQ(unescaped("\"\\u0000\""), std::string(1, '\0'));
}

TEST(JsonScan, FindsTheEndOfAnObject) {
  EXPECT_EQ(end_of_object("{}", 0), 2U);
  EXPECT_EQ(end_of_object(R"({"a": "}"} )", 0), 10U);
  EXPECT_EQ(end_of_object(R"({"a": {"b": [{}]}},)", 0), 18U);
  EXPECT_EQ(end_of_object(R"({"a\"}": 1})", 0), 11U);
  EXPECT_EQ(end_of_object(R"({"a\\": 1}})", 0), 10U);
  EXPECT_EQ(end_of_object("{\"a", 0), std::string_view::npos);
}

// The fast one, 64 bytes at a time, says the same as the plain one about any text.
TEST(JsonScan, AgreesWithTheBytewiseScanOnRandomTexts) {
  constexpr std::string_view kAlphabet = "{}\"\\[]a ,:";
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    // Some texts have few special characters, so that strings get long and blocks are clean.
    const std::size_t plain = random() % 40;
    std::string text = "{";
    const std::size_t length = random() % 400;
    while (text.size() < length) {
      const std::size_t pick = random() % (kAlphabet.size() + plain);
      text.push_back(pick < kAlphabet.size() ? kAlphabet[pick] : 'x');
    }
    ASSERT_EQ(end_of_object(text, 0), end_of_object_bytewise(text, 0)) << text;
  }
}

struct Cut {
  std::vector<std::string> members;  // "key=value"
  std::vector<std::string> names;    // of events
  std::vector<std::int64_t> offsets;
  std::string error;
};

Cut cut(const std::string& text, std::size_t piece = 7, std::size_t batch = 64) {
  TextSource source(text, piece);
  TraceCutter cutter(source, "t.json", batch);
  TraceEventParser parser;
  Cut result;
  while (true) {
    const Result<TracePiece> next = cutter.next();
    if (!next.ok()) result.error = next.status().message();
    if (!next.ok() || next->kind == TracePiece::Kind::kEnd) return result;
    if (next->kind == TracePiece::Kind::kMember) {
      result.members.push_back(std::string(next->key) + "=" + std::string(next->text));
      continue;
    }
    result.offsets.push_back(next->offset);
    const std::int64_t broken = parser.parse(
        *next, [&](const TraceEvent& event) { result.names.emplace_back(event.name); });
    if (broken >= 0) result.error = cutter.error_at(next->offset + broken, "broken").message();
    if (broken >= 0) return result;
  }
}

TEST(TraceCutter, HandsOutMembersAndWholeEventsWhateverThePieces) {
  const std::string text =
      "\n{ \"a\": [1, {\"b\": \"]}\"}], \"n\" : -1.5 , \"traceEvents\": [\n{\"name\": "
      "\"x\\\"}\"},\n"
      " {\"name\": \"y\", \"args\": {\"k\": {}}} , {\"name\":\"" +
      std::string(300, 'z') +
      "\"}\n],"
      "\"baseTimeNanoseconds\": 17 }\n";
  for (const std::size_t piece : {1U, 2U, 3U, 64U, 1000U}) {
    for (const std::size_t batch : {1U, 16U, 100U, 4096U}) {
      const Cut result = cut(text, piece, batch);
      EXPECT_EQ(result.error, "");
      EXPECT_THAT(result.members, ElementsAre("\"a\"=[1, {\"b\": \"]}\"}]", "\"n\"=-1.5",
                                              "\"baseTimeNanoseconds\"=17"));
      EXPECT_THAT(result.names, ElementsAre("x\"}", "y", std::string(300, 'z')));
    }
  }
}

TEST(TraceCutter, TakesABareArrayAlsoWithoutItsEnd) {
  EXPECT_THAT(cut("[{\"name\":\"a\"},{\"name\":\"b\"}]").names, ElementsAre("a", "b"));
  EXPECT_THAT(cut("[{\"name\":\"a\"},\n{\"name\":\"b\"},\n").names, ElementsAre("a", "b"));
  EXPECT_EQ(cut("[{\"name\":\"a\"},\n{\"name\":\"b\"},\n").error, "");
}

TEST(TraceCutter, SaysWhereItIsBroken) {
  EXPECT_EQ(cut("").error, "t.json: byte 0: the file is empty");
  EXPECT_THAT(cut("<html>").error, HasSubstr("t.json: byte 0: not a trace: JSON begins"));
  EXPECT_THAT(cut("{\"traceEvents\": [{\"name\": \"a\"},").error,
              HasSubstr("byte 31: the file ends here"));
  EXPECT_THAT(cut("{\"traceEvents\": [{\"name\": \"a\"},{\"na").error,
              HasSubstr("byte 31: the file ends within this event"));
  EXPECT_THAT(cut("{\"traceEvents\": [{\"name\": \"a\"} x").error,
              HasSubstr("byte 31: 'x' instead of"));
  EXPECT_THAT(cut("{\"a\": 1} trailing").error, HasSubstr("byte 9: 't' instead of the end"));
  EXPECT_THAT(cut(std::string("{\"a\": \0", 7)).error, HasSubstr("byte 6: the byte 0x00"));
  EXPECT_THAT(cut("{\"a\" 1}").error, HasSubstr("byte 5: '1' instead of ':'"));
  EXPECT_THAT(cut("{\"a\": \"b").error, HasSubstr("byte 8: the file ends here"));
  EXPECT_THAT(cut("{\"traceEvents\": [{\"name\": \"a\"},{\"name\": b}]}").error,
              HasSubstr("byte 31: broken"));
}

TEST(TraceCutter, HandsOutAllEventsBeforeTheBrokenPlace) {
  EXPECT_THAT(cut("{\"traceEvents\": [{\"name\": \"a\"},{\"name\": \"b\"},{\"name\": tru}]}").names,
              ElementsAre("a", "b"));
  EXPECT_THAT(cut("{\"traceEvents\": [{\"name\": \"a\"},{\"name\": \"b\"},{\"na").names,
              ElementsAre("a", "b"));
}

TEST(TraceEvents, TakeNamesOfAnyBytes) {
  EXPECT_THAT(cut("[{\"name\": \"a\xff\x01\xc3\xa9\"}, {\"name\": \"b\"}]", 100, 4096).names,
              ElementsAre("a\uFFFD é", "b"));
}

// Such bytes are replaced by longer ones before the events are read.
TEST(TraceEvents, SayWhereTheyAreBrokenWhateverBytesComeBefore) {
  EXPECT_THAT(cut("[{\"name\": \"\xff\xff\xff\xff\"},{\"name\" 7}]", 100, 4096).error,
              HasSubstr("byte 18: broken"));
}

TEST(TraceEvents, SurviveHostileNesting) {
  const std::string deep = "[{\"args\": {\"Input Dims\": " + std::string(100000, '[');
  EXPECT_THAT(cut(deep + std::string(100000, ']') + "}}]", 100, 1 << 20).names, SizeIs(1));
  const std::string members = std::string(100000, '{');
  EXPECT_THAT(cut("{\"a\": " + members).error, HasSubstr("the file ends here"));
  std::string empty_lists = "{";
  for (int i = 0; i < 100000; ++i) empty_lists += "\"traceEvents\": [],";
  EXPECT_THAT(cut(empty_lists + "\"a\": 1}", 5000, 4096).members, ElementsAre("\"a\"=1"));
}

}  // namespace
}  // namespace stepscope
