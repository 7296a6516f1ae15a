#include "broker/engine/group_list.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

using Sort = GroupList::Sort;

// Tube "t": group "a" has three ready jobs, made one second ago; "b" two reserved ones and a ready
// one, made two seconds ago; "c" a delayed one. One ready job has no group.
class GroupListTest : public PolicyTest {
 protected:
  GroupListTest() {
    SetPolicy({{"group", "line"}});
    for (int i = 0; i < 3; ++i) PutOf("b");
    RecordingConsumer& taker = Connect("t");
    for (int i = 0; i < 2; ++i) Reserve(taker);
    Pass(kSecond);
    PutOf("c", 60);
    engine.Release(Now(), taker, 1, 1024, 0);
    Reserve(taker);
    for (int i = 0; i < 3; ++i) PutOf("a");
    Pass(kSecond);
    PutOf("\nno name");
  }
  void PutOf(std::string_view body, std::uint32_t delay_s = 0) {
    PutInto("t", {.delay_s = delay_s, .body = body});
  }
  std::vector<GroupRow> Rows(Sort sort, bool descending, std::size_t most = 100,
                             std::optional<GroupRow> after = {}) const {
    GroupList list(sort, descending, most, std::move(after));
    while (!list.Look(*At("t").groups())) continue;
    EXPECT_EQ(list.total(), 4U);
    return list.Take();
  }
  // Their names in this order, "-" for the jobs without a group.
  std::string Names(Sort sort, bool descending, std::size_t most = 100,
                    std::optional<GroupRow> after = {}) const {
    std::string names;
    for (const GroupRow& row : Rows(sort, descending, most, std::move(after))) {
      names += row.name.empty() ? "-" : row.name;
    }
    return names;
  }
};

TEST_F(GroupListTest, ARowSaysWhatTheGroupHas) {
  const std::vector<GroupRow> rows = Rows(Sort::kName, false);
  ASSERT_EQ(rows.size(), 4U);
  const GroupRow& a = rows[1];
  const GroupRow& b = rows[2];
  const GroupRow& c = rows[3];
  EXPECT_EQ(a.ready, 3U);
  EXPECT_EQ(a.oldest, Now() - kSecond);
  EXPECT_EQ(std::make_pair(b.ready, b.reserved),
            std::make_pair(std::uint64_t{1}, std::uint64_t{2}));
  EXPECT_EQ(b.handed_out, 3U);
  EXPECT_EQ(b.oldest, Now() - 2 * kSecond);
  EXPECT_EQ(c.delayed, 1U);
  EXPECT_EQ(c.oldest, kNever);
  EXPECT_EQ(rows[0].ready, 1U);
}

TEST_F(GroupListTest, SortsByEachOfItsColumnsAndEqualOnesByName) {
  EXPECT_EQ(Names(Sort::kName, false), "-abc");
  EXPECT_EQ(Names(Sort::kName, true), "cba-");
  EXPECT_EQ(Names(Sort::kReady, true), "a-bc");
  EXPECT_EQ(Names(Sort::kReady, false), "c-ba");
  EXPECT_EQ(Names(Sort::kReserved, true), "b-ac");
  EXPECT_EQ(Names(Sort::kDelayed, true), "c-ab");
  EXPECT_EQ(Names(Sort::kHandedOut, true), "b-ac");
  EXPECT_EQ(Names(Sort::kOldest, true), "ba-c");
  EXPECT_EQ(Names(Sort::kOldest, false), "c-ab");
}

TEST_F(GroupListTest, APageGoesOnBehindTheLastRowOfThePageBefore) {
  const std::vector<GroupRow> first = Rows(Sort::kReady, true, 2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(Names(Sort::kReady, true, 2), "a-");
  EXPECT_EQ(Names(Sort::kReady, true, 2, first.back()), "bc");
  EXPECT_EQ(Names(Sort::kReady, true, 0), "");
}

TEST_F(GroupListTest, TheOldestJobIsFoundBehindMoreUrgentOnes) {
  for (const std::uint32_t priority : {9U, 7U, 5U, 8U}) {
    PutInto("t", {.priority = priority, .body = "a"});
  }
  EXPECT_EQ(Rows(Sort::kName, false)[1].oldest, Now() - kSecond);
  const Groups& groups = *At("t").groups();
  EXPECT_EQ(groups.Oldest()->created, Now() - 2 * kSecond);
  std::string priorities;
  groups.VisitByAge(3, [&](const Job& job) { priorities += std::to_string(job.priority) + " "; });
  EXPECT_EQ(priorities, "5 7 8 ");
}

// More groups than a slice looks at.
TEST_F(GroupListTest, ManyAreListedInSlicesEachOnce) {
  for (int i = 0; i < 10'000; ++i) PutOf("g" + std::to_string(i));
  GroupList list(Sort::kReady, true, 3);
  int slices = 1;
  while (!list.Look(*At("t").groups())) ++slices;
  EXPECT_GT(slices, 2);
  EXPECT_EQ(list.total(), 10'004U);
  EXPECT_EQ(list.Take().front().name, "a");
}

TEST_F(GroupListTest, OneWithBuriedJobsAloneIsNotListed) {
  PutOf("d");
  const JobId id = engine.next_id() - 1;
  EXPECT_TRUE(engine.Bury(id, std::nullopt, false).ok());
  EXPECT_NE(At("t").groups()->Find("d"), nullptr);
  EXPECT_EQ(Names(Sort::kName, false), "-abc");
}

}  // namespace
}  // namespace gearstalk
