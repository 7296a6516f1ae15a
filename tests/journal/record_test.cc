#include "broker/journal/record.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace gearstalk {
namespace {

OwnedRecord Made() {
  std::string tube = "mail", body(100, 'x'), origin = "mail.in", setting = "attempts=3";
  const std::array<std::string_view, 1> policy = {setting};
  Record record;
  record.id = 7;
  record.tube = tube;
  record.body = body;
  record.failure.origin = origin;
  record.policy = policy;
  OwnedRecord owned(record);
  for (std::string* text : {&tube, &body, &origin, &setting}) text->assign(text->size(), '?');
  return owned;
}

void ExpectWhole(const OwnedRecord& owned) {
  const Record& record = owned.View();
  EXPECT_EQ(7u, record.id);
  EXPECT_EQ("mail", record.tube);
  EXPECT_EQ(std::string(100, 'x'), record.body);
  EXPECT_EQ("mail.in", record.failure.origin);
  ASSERT_EQ(1u, record.policy.size());
  EXPECT_EQ("attempts=3", record.policy[0]);
}

TEST(OwnedRecord, KeepsItsTextWhereverItGoes) {
  std::vector<OwnedRecord> records;
  for (int i = 0; i < 9; ++i) records.push_back(Made());
  const std::vector<OwnedRecord> copy = records;
  records[0] = std::move(records[8]);
  records.clear();
  for (const OwnedRecord& each : copy) ExpectWhole(each);
  OwnedRecord moved = Made();
  const OwnedRecord there = std::move(moved);
  ExpectWhole(there);
}

}  // namespace
}  // namespace gearstalk
