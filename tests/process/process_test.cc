// How log lines are written, and how many.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "broker/process/json_text.h"
#include "broker/process/log_limiter.h"
#include "broker/process/log_line.h"

namespace gearstalk {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonText(out, text);
  return out;
}

TEST(JsonText, EscapesWhatJsonDoesNotTake) {
  EXPECT_EQ(Json(""), R"("")");
  EXPECT_EQ(Json("plain text"), R"("plain text")");
  EXPECT_EQ(Json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Json("a\nb\rc\td"), R"("a\nb\rc\td")");
  EXPECT_EQ(Json(std::string_view("\0\x01\x1b\x7f", 4)), "\"\\u0000\\u0001\\u001b\\u007f\"");
}

TEST(JsonText, LeavesUtf8Alone) {
  for (const char* text :
       {"\xc2\x80", "\xc3\xa9", "\xe0\xa0\x80", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xf0\x90\x80\x80", "\xf0\x9f\x90\x87", "\xf4\x8f\xbf\xbf"}) {
    const std::string quoted = Json(text);
    EXPECT_EQ(quoted.substr(1, quoted.size() - 2), text);
  }
}

TEST(JsonText, ReplacesWhatIsNoUtf8ByteByByte) {
  EXPECT_EQ(Json("a\x80z"), R"("a\ufffdz")");
  EXPECT_EQ(Json("\xff\xfe"), R"("\ufffd\ufffd")");
  EXPECT_EQ(Json("\xc3"), R"("\ufffd")");
  EXPECT_EQ(Json("\xc3("), R"("\ufffd(")");
  EXPECT_EQ(Json("\xc0\xaf"), R"("\ufffd\ufffd")");            // overlong
  EXPECT_EQ(Json("\xe0\x9f\xbf"), R"("\ufffd\ufffd\ufffd")");  // overlong
  EXPECT_EQ(Json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // surrogate
  EXPECT_EQ(Json("\xf0\x8f\xbf\xbf"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(Json("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

const std::vector<LogField> kFields = {
    {"client", "127.0.0.1"}, {"connection", std::uint64_t{7}}, {"error", "no \"space\"\nleft"}};

TEST(TextLine, QuotesWhatIsNoPlainWord) {
  EXPECT_EQ(TextLine("refused", kFields),
            R"(refused client=127.0.0.1 connection=7 error="no \"space\"\nleft")");
  const std::vector<LogField> odd = {{"a", ""}, {"b", "x=y"}, {"c", "\\"}, {"d", "\xff"}};
  EXPECT_EQ(TextLine("e", odd), "e a=\"\" b=\"x=y\" c=\"\\\\\" d=\"\\ufffd\"");
}

TEST(TextLine, StaysOneLine) { EXPECT_EQ(TextLine("a\nb\x1b[1m", {}), "a?b?[1m"); }

TEST(JsonMembers, NamesEventAndFields) {
  EXPECT_EQ(
      JsonMembers("refused", kFields),
      R"("event":"refused","client":"127.0.0.1","connection":7,"error":"no \"space\"\nleft")");
}

TEST(Levels, HaveNames) {
  for (const char* name : {"trace", "debug", "info", "warn", "error", "critical", "off"}) {
    EXPECT_EQ(NameOf(LogLevelNamed(name)), name);
  }
  EXPECT_EQ(GearmandNameOf(LogLevel::kWarning), "WARNING");
}

std::size_t Admitted(LogLimiter& limiter, std::string_view kind, std::size_t lines) {
  std::size_t admitted = 0;
  for (std::size_t i = 0; i < lines; ++i) admitted += limiter.Admit(kind) ? 1 : 0;
  return admitted;
}

TEST(LogLimiter, AdmitsABurstOfEachKind) {
  LogLimiter limiter;
  EXPECT_EQ(Admitted(limiter, "a", 1000), LogLimiter::kBurst);
  EXPECT_EQ(Admitted(limiter, "b", 5), 5U);
}

TEST(LogLimiter, TellsOnceWhatWasSuppressed) {
  LogLimiter limiter;
  Admitted(limiter, "a", LogLimiter::kBurst + 7);
  Admitted(limiter, "b", 1);
  const auto suppressed = limiter.Refill();
  ASSERT_EQ(suppressed.size(), 1U);
  EXPECT_EQ(suppressed[0].kind, "a");
  EXPECT_EQ(suppressed[0].lines, 7U);
  EXPECT_TRUE(limiter.Refill().empty());
}

TEST(LogLimiter, RefillsUpToABurst) {
  LogLimiter limiter;
  Admitted(limiter, "a", 1000);
  limiter.Refill();
  EXPECT_EQ(Admitted(limiter, "a", 1000), LogLimiter::kRefill);
  for (int i = 0; i < 1000; ++i) limiter.Refill();
  EXPECT_EQ(Admitted(limiter, "a", 1000), LogLimiter::kBurst);
}

}  // namespace
}  // namespace gearstalk
