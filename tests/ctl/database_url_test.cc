#include "admin/ctl/database_url.h"

#include <gtest/gtest.h>

namespace gearstalk::ctl {
namespace {

TEST(DatabaseUrlTest, HasUserPasswordHostPortAndDatabase) {
  auto url = DatabaseUrl::Parse("gear:secret@db.example:3307/gearman");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ("gear", url->user);
  EXPECT_EQ("secret", url->password);
  EXPECT_EQ("db.example", url->host);
  EXPECT_EQ(3307u, url->port);
  EXPECT_EQ("gearman", url->rest);
  EXPECT_EQ("db.example:3307", url->Place());
}

TEST(DatabaseUrlTest, PercentStandsForAByte) {
  auto url = DatabaseUrl::Parse("a%40b:p%2Fw%3a%25@h/d%20b");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ("a@b", url->user);
  EXPECT_EQ("p/w:%", url->password);
  EXPECT_EQ("d b", url->rest);
}

TEST(DatabaseUrlTest, APasswordMayHaveAnAtSignAndColonsAsTheyAre) {
  auto url = DatabaseUrl::Parse("u:p@w:x@h:1/d");
  ASSERT_TRUE(url.ok());
  EXPECT_EQ("p@w:x", url->password);
  EXPECT_EQ("h", url->host);
}

TEST(DatabaseUrlTest, AnIpv6AddressIsInBrackets) {
  auto with = DatabaseUrl::Parse("[::1]:6379/0");
  ASSERT_TRUE(with.ok());
  EXPECT_EQ("::1", with->host);
  EXPECT_EQ(6379u, with->port);
  auto without = DatabaseUrl::Parse("u@[fe80::1]/d");
  ASSERT_TRUE(without.ok());
  EXPECT_EQ("fe80::1", without->host);
  EXPECT_EQ(0u, without->port);
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
