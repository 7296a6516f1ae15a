#include "broker/engine/slab.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace gearstalk {
namespace {

// How many of the blocks have memory behind all of their addresses: msync(2) fails where none is.
std::size_t CountMapped(const std::vector<void*>& blocks, std::size_t size) {
  return static_cast<std::size_t>(std::count_if(blocks.begin(), blocks.end(), [=](void* block) {
    const std::size_t in_page = reinterpret_cast<std::uintptr_t>(block) % 4096;
    return msync(static_cast<char*>(block) - in_page, in_page + size, MS_ASYNC) == 0;
  }));
}

struct Block {
  unsigned char* at;
  std::size_t size;
  unsigned char fill;

  bool Intact() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (at[i] != fill) return false;
    }
    return true;
  }
};

Block Take(std::size_t size, unsigned char fill) {
  auto* at = static_cast<unsigned char*>(SlabAllocate(size));
  std::memset(at, fill, size);
  return {at, size, fill};
}

TEST(Slab, BlocksOfEverySizeAreAlignedAndApart) {
  std::vector<Block> blocks;
  for (std::size_t size = 1; size <= kSlabLimit; size += 1 + size / 256) {
    for (int i = 0; i < 5; ++i) blocks.push_back(Take(size, static_cast<unsigned char>(size + 1)));
  }
  for (const Block& block : blocks) {
    EXPECT_EQ(0u, reinterpret_cast<std::uintptr_t>(block.at) % 8);
    EXPECT_TRUE(block.Intact()) << block.size;
    SlabFree(block.at, block.size);
  }
}

TEST(Slab, AFreedBlockIsUsedAgain) {
  void* stays = SlabAllocate(200);
  void* first = SlabAllocate(200);
  SlabFree(first, 200);
  EXPECT_EQ(first, SlabAllocate(200));
  SlabFree(first, 200);
  SlabFree(stays, 200);
}

TEST(Slab, SizesOfOneClassShareAPage) {
  void* stays = SlabAllocate(304);
  void* block = SlabAllocate(297);
  SlabFree(block, 297);
  EXPECT_EQ(block, SlabAllocate(304));
  SlabFree(block, 304);
  SlabFree(stays, 304);
}

TEST(Slab, MemoryGoesBackToTheSystem) {
  constexpr std::size_t kBytes = 50'000'000;
  for (const std::size_t size : {std::size_t{512}, std::size_t{3'000}, kSlabLimit}) {
    std::vector<void*> blocks;
    blocks.reserve(kBytes / size);
    for (std::size_t i = 0; i < kBytes / size; ++i) blocks.push_back(SlabAllocate(size));
    EXPECT_EQ(blocks.size(), CountMapped(blocks, size));
    for (void* block : blocks) SlabFree(block, size);
    EXPECT_LE(CountMapped(blocks, size), blocks.size() / 10);
  }
}

TEST(Slab, NoMoreThanAnEighthIsWasted) {
  for (const std::size_t size : {1'025, 1'500, 2'049, 9'000, 33'000, 65'600}) {
    constexpr std::size_t kBlocks = 2'000;
    std::vector<char*> blocks;
    std::size_t together = 0;  // pairs whose distance is the room of one
    for (std::size_t i = 0; i < kBlocks; ++i) {
      blocks.push_back(static_cast<char*>(SlabAllocate(size)));
      if (i == 0 || blocks[i] < blocks[i - 1]) continue;
      const auto room = static_cast<std::size_t>(blocks[i] - blocks[i - 1]);
      if (room <= size + size / 8) ++together;
    }
    EXPECT_GE(together, kBlocks / 2) << size;
    for (char* block : blocks) SlabFree(block, size);
  }
}

TEST(Slab, BlocksStayIntactOverRandomHistories) {
  std::mt19937 random(3);
  std::vector<Block> blocks;
  for (int step = 0; step < 100'000; ++step) {
    if (blocks.empty() || random() % 16 < (step < 50'000 ? 9U : 7U)) {
      const std::size_t size = 8 * (1 + random() % 4) << (random() % 8 == 0 ? random() % 12 : 0);
      blocks.push_back(Take(size, static_cast<unsigned char>(random())));
      continue;
    }
    std::swap(blocks[random() % blocks.size()], blocks.back());
    ASSERT_TRUE(blocks.back().Intact());
    SlabFree(blocks.back().at, blocks.back().size);
    blocks.pop_back();
  }
  for (const Block& block : blocks) {
    ASSERT_TRUE(block.Intact());
    SlabFree(block.at, block.size);
  }
}

TEST(Slab, BlocksGrowOverEverySizeWithTheirBytes) {
  for (const std::size_t from : {std::size_t{100}, kSlabLimit, std::size_t{100'000}}) {
    std::size_t size = from;
    auto* block = static_cast<unsigned char*>(BlockAllocate(size));
    std::iota(block, block + size, static_cast<unsigned char>(0));
    while (size < 3'000'000) {
      const std::size_t larger = size + size / 3;
      block = static_cast<unsigned char*>(TryBlockGrow(block, size, larger));
      for (std::size_t i = 0; i < size; i += 7) ASSERT_EQ(static_cast<unsigned char>(i), block[i]);
      for (; size < larger; ++size) block[size] = static_cast<unsigned char>(size);
    }
    BlockFree(block, size);
  }
}

TEST(MappedBlocks, GoBackToTheSystemButForAFew) {
  DropSpareBlocks();
  for (const std::size_t size : {std::size_t{80 << 10}, std::size_t{300 << 10}}) {
    std::vector<void*> blocks(1'000);
    for (void*& block : blocks) block = MapBlock(size);
    EXPECT_EQ(blocks.size(), CountMapped(blocks, size));
    for (void* block : blocks) UnmapBlock(block, size);
    EXPECT_EQ((16U << 20) / size, CountMapped(blocks, size));
    DropSpareBlocks();
    EXPECT_EQ(0U, CountMapped(blocks, size));
  }
}

TEST(MappedBlocks, LargeOnesGoBackPieceByPiece) {
  constexpr std::size_t kSize = 9 << 20;
  while (UnmapSome()) continue;
  const std::vector<void*> blocks{MapBlock(kSize)};
  UnmapBlock(blocks.front(), kSize);
  for (int piece = 0; piece < 5; ++piece) {
    EXPECT_EQ(1U, CountMapped(blocks, 4096));
    EXPECT_TRUE(UnmapSome());
  }
  EXPECT_EQ(0U, CountMapped(blocks, 4096));
  EXPECT_FALSE(UnmapSome());
}

TEST(MappedBlocks, NoMoreThanSomeWaitToGoBack) {
  constexpr std::size_t kSize = 64 << 20;
  while (UnmapSome()) continue;
  std::vector<void*> blocks(10);
  for (void*& block : blocks) block = MapBlock(kSize);
  for (void* block : blocks) UnmapBlock(block, kSize);
  EXPECT_EQ(4U, CountMapped(blocks, 4096));
  while (UnmapSome()) continue;
  EXPECT_EQ(0U, CountMapped(blocks, 4096));
}

TEST(MappedBlocks, AreUsedAgainByOneOfTheirSize) {
  constexpr std::size_t kSize = 100 << 10;
  DropSpareBlocks();
  void* const block = MapBlock(kSize);
  UnmapBlock(block, kSize);
  void* const other = MapBlock(2 * kSize);
  EXPECT_NE(block, other);
  EXPECT_EQ(block, MapBlock(kSize));
  UnmapBlock(block, kSize);
  UnmapBlock(other, 2 * kSize);
}

TEST(Slab, WhatArrivesDoublesUnlessItsSizeLiesReady) {
  DropSpareBlocks();
  EXPECT_EQ(kArrivesWhole, RoomToArrive(0, 1, kArrivesWhole));
  EXPECT_EQ(kArrivesWhole, RoomToArrive(0, 1, 1'000'000));
  EXPECT_EQ(2 * kArrivesWhole, RoomToArrive(kArrivesWhole, kArrivesWhole + 1, 1'000'000));
  EXPECT_EQ(900'000U, RoomToArrive(kArrivesWhole, 900'000, 1'000'000));
  EXPECT_EQ(1'000'000U, RoomToArrive(600'000, 600'001, 1'000'000));
  UnmapBlock(MapBlock(1 << 20), 1 << 20);
  EXPECT_EQ(1'000'000U, RoomToArrive(0, 1, 1'000'000));
}

TEST(Slab, JobMemoryIsCounted) {
  const std::size_t before = JobMemory();
  CountJobMemory(100);
  EXPECT_EQ(before + 100, JobMemory());
  CountJobMemory(-100);
  EXPECT_EQ(before, JobMemory());
}

}  // namespace
}  // namespace gearstalk
