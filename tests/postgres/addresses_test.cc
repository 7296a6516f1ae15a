#include "broker/postgres/addresses.h"

#include <gtest/gtest.h>

namespace gearstalk::postgres {
namespace {

Host Named(const std::string& name) { return {name, {{"host", name}, {"port", "5432"}}}; }

TEST(Addresses, WhatIsNoNameIsKnownAtOnce) {
  Addresses addresses({Named("192.0.2.1"), Named("2001:db8::1"), Named("/run/postgresql")});
  for (std::size_t i = 0; i < 3; ++i) {
    Host there;
    EXPECT_TRUE(addresses.Fill(i, there, 1));
    EXPECT_TRUE(there.words.empty());
  }
}

TEST(Addresses, ANameIsLookedUpBesideItsUse) {
  Addresses addresses({Named("localhost")});
  Host there;
  const Time limit = BootTime() + 60 * kSecond;
  while (!addresses.Fill(0, there, 7) && BootTime() < limit) {
    EXPECT_EQ(addresses.waits_since(0), 7);
  }
  EXPECT_NE(there.words["hostaddr"].find("127.0.0.1"), std::string::npos) << addresses.trouble(0);
  EXPECT_EQ(there.words["host"].substr(0, 9), "localhost");
  EXPECT_EQ(addresses.waits_since(0), 0);
}

// While a name is looked up again, the last address is in use.
TEST(Addresses, WhatIsKnownStaysKnown) {
  Addresses addresses({Named("name.invalid")});
  addresses.Reached(0, "192.0.2.1");
  addresses.Doubt(0);
  const Time limit = BootTime() + 60 * kSecond;
  while (addresses.trouble(0).empty() && BootTime() < limit) {
    Host there;
    EXPECT_TRUE(addresses.Fill(0, there, 1));
    EXPECT_EQ(there.words["hostaddr"], "192.0.2.1");
  }
  EXPECT_NE(addresses.trouble(0), "");
}

}  // namespace
}  // namespace gearstalk::postgres
