#include "proto_gearman/numbers.h"

#include <gtest/gtest.h>

#include <string>

namespace gearstalk::gearman {
namespace {

using namespace std::string_literals;

TEST(LeadingNumber, IsReadAsClientsMeanIt) {
  EXPECT_EQ(LeadingNumber(""), 0U);
  EXPECT_EQ(LeadingNumber("0"), 0U);
  EXPECT_EQ(LeadingNumber("42"), 42U);
  EXPECT_EQ(LeadingNumber("  +42"), 42U);
  EXPECT_EQ(LeadingNumber("42.7"), 42U);
  EXPECT_EQ(LeadingNumber("x42"), 0U);
  EXPECT_EQ(LeadingNumber("-42"), 0U);
  EXPECT_EQ(LeadingNumber("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(LeadingNumber("99999999999999999999999"), UINT64_MAX);
}

TEST(RunLimit, IsAtLeastASecond) {
  EXPECT_EQ(RunLimit("1"), kSecond);
  EXPECT_EQ(RunLimit("999"), kSecond);
  EXPECT_EQ(RunLimit("1001"), 1001 * kMillisecond);
  EXPECT_EQ(RunLimit("1001\0"s), 1001 * kMillisecond);
}

TEST(RunLimit, WhatIsNoNumberIsNoLimit) {
  EXPECT_EQ(RunLimit(""), 0);
  EXPECT_EQ(RunLimit("0"), 0);
  EXPECT_EQ(RunLimit("-5"), 0);
  EXPECT_EQ(RunLimit("5s"), 0);
  EXPECT_EQ(RunLimit("\0\0\x03\xe8"s), 0);
  EXPECT_EQ(RunLimit("9223372036854775807"), 0);
  EXPECT_EQ(RunLimit("99999999999999999999"), 0);
  EXPECT_EQ(RunLimit("999999999999999999999"), 0);
}

TEST(EpochTime, NoNumberIsNowAndTooMuchIsNever) {
  EXPECT_EQ(EpochTime("1700000000"), 1700000000 * kSecond);
  EXPECT_EQ(EpochTime("soon"), 0);
  EXPECT_EQ(EpochTime("-1"), 0);
  EXPECT_EQ(EpochTime("9223372035"), 9223372035 * kSecond);
  EXPECT_EQ(EpochTime("9223372037"), kNever);
  EXPECT_EQ(EpochTime("99999999999999999999999"), kNever);
}

TEST(Decimal, WritesAllDigits) {
  EXPECT_EQ(std::string_view(Decimal(0)), "0");
  EXPECT_EQ(std::string_view(Decimal(UINT64_MAX)), "18446744073709551615");
}

}  // namespace
}  // namespace gearstalk::gearman
