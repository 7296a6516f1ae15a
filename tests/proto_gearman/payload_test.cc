#include "proto_gearman/payload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "broker/engine/slab.h"

namespace gearstalk::gearman {
namespace {

std::string Pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

TEST(Payload, TakesOnlyWhatBelongsToIt) {
  Payload payload(5);
  EXPECT_EQ(payload.Add("abc"), 3U);
  EXPECT_FALSE(payload.complete());
  EXPECT_EQ(payload.Add("defg"), 2U);
  EXPECT_TRUE(payload.complete());
  EXPECT_TRUE(payload.Space().empty());
  EXPECT_EQ(payload.view(), "abcde");
}

TEST(Payload, GrowsWithWhatArrives) {
  DropSpareBlocks();
  constexpr std::size_t kSize = 1'000'000;
  const std::string bytes = Pattern(kSize);
  Payload payload(kSize);
  std::size_t at = payload.Add(bytes.substr(0, 10));
  while (!payload.complete()) {
    const std::span<char> space = payload.Space();
    ASSERT_FALSE(space.empty());
    ASSERT_LE(space.size(), std::max<std::size_t>(kArrivesWhole, at + 8192));
    const std::size_t part = std::min<std::size_t>(space.size(), 30'000);
    std::memcpy(space.data(), bytes.data() + at, part);
    payload.Filled(part);
    at += part;
  }
  EXPECT_EQ(payload.view(), bytes);
}

TEST(Payload, OfNothingIsComplete) {
  Payload payload(0);
  EXPECT_TRUE(payload.complete());
  EXPECT_EQ(payload.Add("x"), 0U);
  EXPECT_EQ(payload.view(), "");
}

}  // namespace
}  // namespace gearstalk::gearman
