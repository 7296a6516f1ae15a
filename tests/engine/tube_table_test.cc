#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/engine/tube.h"

namespace gearstalk {
namespace {

std::vector<std::string> Names(const TubeTable& table) {
  std::vector<std::string> names;
  for (const Tube* tube = table.Next(0); tube != nullptr; tube = table.Next(tube->id())) {
    names.push_back(tube->name());
  }
  return names;
}

TEST(TubeTable, MakesATubeOnce) {
  TubeTable table;
  EXPECT_EQ(nullptr, table.Find("a"));
  Tube& tube = table.FindOrMake("a");
  EXPECT_EQ(&tube, &table.FindOrMake("a"));
  EXPECT_EQ(&tube, table.Find("a"));
  EXPECT_EQ(1u, table.size());
}

TEST(TubeTable, WalksInTheOrderOfCreation) {
  TubeTable table;
  for (const char* name : {"z", "a", "m"}) table.FindOrMake(name);
  EXPECT_EQ((std::vector<std::string>{"z", "a", "m"}), Names(table));
  table.Erase(*table.Find("z"));
  table.FindOrMake("z");
  EXPECT_EQ((std::vector<std::string>{"a", "m", "z"}), Names(table));
}

TEST(TubeTable, ACursorStaysGoodWhenItsTubeGoes) {
  TubeTable table;
  const std::uint64_t first = table.FindOrMake("a").id();
  table.FindOrMake("b");
  table.Erase(*table.Find("a"));
  EXPECT_EQ("b", table.Next(first)->name());
}

TEST(TubeTable, NamesAreBytes) {
  TubeTable table;
  const std::string name("a\0b", 3);
  table.FindOrMake(name);
  table.FindOrMake("");
  EXPECT_EQ(nullptr, table.Find("a"));
  EXPECT_EQ(name, table.Find(name)->name());
  EXPECT_NE(nullptr, table.Find(""));
}

TEST(TubeTable, FindsEachOfManyTubes) {
  TubeTable table;
  for (int i = 0; i < 10'000; ++i) table.FindOrMake("tube-" + std::to_string(i));
  for (int i = 0; i < 10'000; i += 2) table.Erase(*table.Find("tube-" + std::to_string(i)));
  EXPECT_EQ(5000u, table.size());
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(i % 2 != 0, table.Find("tube-" + std::to_string(i)) != nullptr);
  }
}

}  // namespace
}  // namespace gearstalk
