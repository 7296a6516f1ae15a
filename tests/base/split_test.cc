#include "broker/base/split.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace gearstalk {
namespace {

TEST(ParseNumber, TakesAllOfTheText) {
  std::uint32_t number = 0;
  EXPECT_TRUE(ParseNumber("0042", number));
  EXPECT_EQ(number, 42U);
  EXPECT_TRUE(ParseNumber("00e9", number, 16));
  EXPECT_EQ(number, 0xE9U);
  for (const char* const bad : {"", " 1", "1 ", "+1", "-1", "1x", "4294967296"}) {
    EXPECT_FALSE(ParseNumber(bad, number)) << bad;
  }
}

TEST(ParseNumber, TakesFractions) {
  double number = 0;
  EXPECT_TRUE(ParseNumber("-2.5e1", number));
  EXPECT_EQ(number, -25);
  for (const char* const bad : {"", " 1", "1 ", "+1", "1.5s", "1e999"}) {
    EXPECT_FALSE(ParseNumber(bad, number)) << bad;
  }
}

TEST(ParsePort, TakesFiveDigits) {
  std::uint16_t port = 0;
  EXPECT_TRUE(ParsePort("65535", port));
  EXPECT_EQ(port, 65535);
  EXPECT_TRUE(ParsePort("00080", port));
  EXPECT_EQ(port, 80);
  for (const char* const bad : {"", "65536", "000080", "-1", " 80", "http"}) {
    EXPECT_FALSE(ParsePort(bad, port)) << bad;
  }
}

}  // namespace
}  // namespace gearstalk
