#include "admin/console/assets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace gearstalk {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(ConsoleAssets, ThePageNamesTheOthers) {
  const auto assets = ConsoleAssets();
  ASSERT_EQ(assets.size(), 4U);
  const auto page =
      std::find_if(assets.begin(), assets.end(), [](auto& asset) { return asset.name.empty(); });
  ASSERT_NE(page, assets.end());
  EXPECT_EQ(page->type, "text/html; charset=utf-8");
  EXPECT_THAT(std::string(page->plain), StartsWith("<!doctype html>"));
  for (const HttpAsset& asset : assets) {
    if (asset.name.empty()) continue;
    EXPECT_THAT(std::string(asset.name), MatchesRegex("(app|icon)\\.[0-9a-f]+\\.(js|css|svg)"));
    EXPECT_THAT(std::string(page->plain), HasSubstr(std::string(asset.name)));
  }
}

TEST(ConsoleAssets, AreCompressedWithoutATime) {
  for (const HttpAsset& asset : ConsoleAssets()) {
    EXPECT_FALSE(asset.plain.empty());
    ASSERT_GT(asset.gzip.size(), 18U);
    EXPECT_EQ(asset.gzip.substr(0, 8), std::string_view("\x1f\x8b\x08\0\0\0\0\0", 8));
    // The last four bytes are the size of what was compressed.
    const std::string_view size = asset.gzip.substr(asset.gzip.size() - 4);
    std::size_t plain = 0;
    for (std::size_t i = 4; i-- > 0;) plain = plain << 8 | static_cast<unsigned char>(size[i]);
    EXPECT_EQ(plain, asset.plain.size());
  }
}

}  // namespace
}  // namespace gearstalk
