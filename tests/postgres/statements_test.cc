#include "broker/postgres/statements.h"

#include <gtest/gtest.h>

namespace gearstalk::postgres {
namespace {

TEST(Statements, NamesAreQuoted) {
  EXPECT_EQ(Quoted("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(Literal("it's"), "'it''s'");
}

TEST(Statements, AChannelHas63BytesAndWholeCharacters) {
  EXPECT_EQ(ChannelOf("jobs"), "gearstalkd_jobs");
  std::string schema(51, 'x');
  schema += "\xC3\xA4";  // its second byte would be the 64th
  EXPECT_EQ(ChannelOf(schema).size(), 62U);
}

TEST(Statements, ASessionIsNamedAfterItsEpochHoweverLongTheSchemaIs) {
  EXPECT_EQ(SessionName("jobs", 7), "gearstalkd/jobs/7");
  EXPECT_EQ(SessionName("j\xC3\xB6'bs", 7), "gearstalkd/j???bs/7");
  const std::string name = SessionName(std::string(63, 's'), 1234);
  EXPECT_EQ(name.size(), 63U);
  EXPECT_TRUE(name.ends_with("/1234"));
}

}  // namespace
}  // namespace gearstalk::postgres
