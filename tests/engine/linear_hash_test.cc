#include "broker/engine/linear_hash.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gearstalk {
namespace {

struct Named {
  std::uint64_t name;
};

Named* Find(const LinearHash<Named>& table, std::uint64_t hash, std::uint64_t name) {
  return table.Find(hash, [=](const Named& named) { return named.name == name; });
}

TEST(LinearHash, ManyOfOneHashAreKeptApart) {
  constexpr std::uint64_t kHash = 0x123456789abcdef0;
  std::vector<Named> all(100);
  LinearHash<Named> table;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = i;
    table.Insert(kHash, all[i]);
  }
  EXPECT_EQ(all.size(), table.size());
  for (std::size_t i = 0; i < all.size(); i += 2) table.Remove(kHash, all[i]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(i % 2 == 0 ? nullptr : &all[i], Find(table, kHash, i));
  }
}

TEST(LinearHash, HashesThatDifferOnlyInHighBitsAreFoundThroughEverySplitAndMerge) {
  std::vector<Named> all(5'000);
  LinearHash<Named> table;
  const auto hash = [](std::uint64_t name) { return name << 20 | name % 3; };
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].name = i;
    table.Insert(hash(i), all[i]);
    ASSERT_EQ(&all[i / 2], Find(table, hash(i / 2), i / 2));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    table.Remove(hash(i), all[i]);
    ASSERT_EQ(nullptr, Find(table, hash(i), i));
    if (i + 1 == all.size()) break;
    ASSERT_EQ(&all.back(), Find(table, hash(4'999), 4'999));
  }
  EXPECT_EQ(0U, table.size());
}

TEST(LinearHash, AMillionOfOneHashAreTaken) {
  std::vector<Named> all(1'000'000);
  LinearHash<Named> table;
  for (Named& one : all) table.Insert(7, one);
  EXPECT_EQ(all.size(), table.size());
}

TEST(LinearHash, AnotherHashFindsNothing) {
  Named one{1};
  LinearHash<Named> table;
  table.Insert(std::uint64_t{1} << 8, one);
  EXPECT_EQ(nullptr, Find(table, std::uint64_t{1} << 9, 1));
  EXPECT_EQ(&one, Find(table, std::uint64_t{1} << 8, 1));
}

}  // namespace
}  // namespace gearstalk
