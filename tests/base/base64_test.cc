#include "broker/base/base64.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

TEST(Base64, OfEveryLength) {
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
    EXPECT_EQ(FromBase64(ToBase64Url(bytes)), bytes);
    bytes += static_cast<char>(250 + i);
  }
}

TEST(Base64, Alphabets) {
  EXPECT_EQ(ToBase64("\xfb\xff"), "+/8=");
  EXPECT_EQ(ToBase64Url("\xfb\xff"), "-_8");
  EXPECT_EQ(FromBase64("+/8"), "\xfb\xff");
  EXPECT_EQ(FromBase64("-_8="), "\xfb\xff");
}

TEST(Base64, Neither) {
  for (const char* bad : {"?", "A", "AAAAA", "AA A", "AA\n", "A=AA"}) {
    EXPECT_EQ(FromBase64(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace gearstalk
