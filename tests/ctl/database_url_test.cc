#include "admin/move/sources/database_url.h"

#include <gtest/gtest.h>

namespace gearstalk::ctl {
namespace {

DatabaseUrl Parsed(const std::string& text) {
  Result<DatabaseUrl> url = DatabaseUrl::Parse(text);
  EXPECT_TRUE(url.ok()) << text;
  return url.ok() ? url.value() : DatabaseUrl();
}

TEST(DatabaseUrlTest, HasUserPasswordHostPortAndDatabase) {
  const DatabaseUrl url = Parsed("gear:secret@db.example:3307/gearman");
  EXPECT_EQ("gear", url.user);
  EXPECT_EQ("secret", url.password);
  EXPECT_EQ("db.example", url.host);
  EXPECT_EQ(3307u, url.port);
  EXPECT_EQ("gearman", url.rest);
  EXPECT_EQ("db.example:3307", url.Place());
}

TEST(DatabaseUrlTest, PercentStandsForAByte) {
  const DatabaseUrl url = Parsed("a%40b:p%2Fw%3a%25@h/d%20b");
  EXPECT_EQ("a@b", url.user);
  EXPECT_EQ("p/w:%", url.password);
  EXPECT_EQ("d b", url.rest);
}

TEST(DatabaseUrlTest, APasswordMayHaveAnAtSignAndColonsAsTheyAre) {
  const DatabaseUrl url = Parsed("u:p@w:x@h:1/d");
  EXPECT_EQ("p@w:x", url.password);
  EXPECT_EQ("h", url.host);
}

TEST(DatabaseUrlTest, AnIpv6AddressIsInBrackets) {
  const DatabaseUrl with = Parsed("[::1]:6379/0");
  EXPECT_EQ("::1", with.host);
  EXPECT_EQ(6379u, with.port);
  const DatabaseUrl without = Parsed("u@[fe80::1]/d");
  EXPECT_EQ("fe80::1", without.host);
  EXPECT_EQ(0u, without.port);
}

TEST(DatabaseUrlTest, WhatIsNoAddressIsRefused) {
  for (const char* text :
       {"", "/d", "u@/d", "h:/d", "h:x/d", "h:0/d", "h:65536/d", "h:1x/d", "[::1/d", "[::1]x/d",
        "[]/d", "u:%@h/d", "u:%4@h/d", "u:%zz@h/d", "u:%00@h/d", "u:%+1@h/d"}) {
    EXPECT_FALSE(DatabaseUrl::Parse(text).ok()) << text;
  }
}

TEST(DatabaseUrlTest, ABadAddressIsNotRepeated) {
  auto url = DatabaseUrl::Parse("u:secret%@h/d");
  ASSERT_FALSE(url.ok());
  EXPECT_EQ(std::string::npos, url.status().message().find("secret"));
}

}  // namespace
}  // namespace gearstalk::ctl
