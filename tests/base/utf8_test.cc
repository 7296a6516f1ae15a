#include "broker/base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace gearstalk {
namespace {

TEST(Utf8, TakesTheFirstAndTheLastCharacterOfEachSize) {
  for (const std::string text :
       {"\x01", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(CharacterSize(text), text.size());
    EXPECT_EQ(CharacterSize(text + "x"), text.size());
    EXPECT_TRUE(IsUtf8("a" + text + "b"));
  }
  EXPECT_TRUE(IsUtf8(""));
}

TEST(Utf8, RefusesWhatIsNoCharacter) {
  for (const std::string text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc3(",
        "\xe2\x82(", "\xf0\x9f\x98("}) {
    EXPECT_EQ(CharacterSize(text), 0U);
    EXPECT_FALSE(IsUtf8(text));
    EXPECT_FALSE(IsUtf8("a" + text));
  }
}

TEST(Utf8, AppendsTheFirstAndTheLastCharacterOfEachSize) {
  const std::pair<std::uint32_t, std::string> characters[] = {{0x1, "\x01"},
                                                              {0x7F, "\x7f"},
                                                              {0x80, "\xc2\x80"},
                                                              {0x7FF, "\xdf\xbf"},
                                                              {0x800, "\xe0\xa0\x80"},
                                                              {0xFFFF, "\xef\xbf\xbf"},
                                                              {0x10000, "\xf0\x90\x80\x80"},
                                                              {0x10FFFF, "\xf4\x8f\xbf\xbf"}};
  for (const auto& [code, bytes] : characters) {
    std::string text = "a";
    AppendUtf8(text, code);
    EXPECT_EQ(text, "a" + bytes);
  }
}

}  // namespace
}  // namespace gearstalk
