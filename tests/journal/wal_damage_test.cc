// Bits that flip, files that are cut, mixed up or missing.

#include <gtest/gtest.h>

#include <cstring>

#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_recovery.h"
#include "tests/journal/rig.h"
#include "tests/journal/script.h"

namespace gearstalk {
namespace {

// The oldest segment there is.
std::string First(const Rig& rig) { return rig.disk.Names().front(); }

// Where the log ends, in its last segment.
struct End {
  std::string path;
  std::uint64_t used;
};
End EndOf(Rig& rig) {
  WalRecovery recovery(rig.disk, Rig::kDirectory);
  const Status status = recovery.Run([](const Record&, std::size_t) { return Status(); });
  EXPECT_TRUE(status.ok()) << status.message();
  return {recovery.segments().back().path, recovery.used()};
}

// A journal of some segments; closed cleanly, or as a crash leaves it.
void Fill(Rig& rig, bool close, int rounds = 25) {
  ASSERT_TRUE(rig.Start().ok());
  Script script(rig);
  script.Begin();
  script.Run(rounds);
  if (close) {
    ASSERT_TRUE(rig.journal->Close().ok());
  }
  rig.journal.reset();
}

// A flipped bit is found, or it hits what does not count; it never changes what is read.
TEST(WalDamage, EveryBitOfEveryByte) {
  Rig rig;
  rig.options.segment_size = 1024;
  Fill(rig, true);
  const Model::State before = rig.model->state();
  const auto image = rig.disk.Image();
  std::size_t found = 0, harmless = 0;
  for (const auto& [name, content] : image) {
    for (std::size_t at = 0; at < content.size(); ++at) {
      rig.disk.SetImage(image);
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      rig.disk.SetContent(name, damaged);
      const Status status = rig.Start();
      rig.journal.reset();
      if (status.ok()) {
        ++harmless;
        ASSERT_TRUE(SameJobs(rig.model->state(), before)) << name << " at " << at;
        ASSERT_EQ(rig.model->state().next_id, before.next_id);
      } else {
        ++found;
        ASSERT_NE(status.message().find(name.substr(0, 6)), std::string::npos) << status.message();
        ASSERT_NE(status.message().find("at offset"), std::string::npos) << status.message();
      }
    }
  }
  EXPECT_GT(found, 1000U);
  EXPECT_GT(harmless, 100U);  // behind the end of the log
}

// After a crash nothing says how far the last batch came: a bit that flips in it looks like a write
// that was not finished. Everywhere else it is found.
TEST(WalDamage, EveryByteAfterACrash) {
  Rig rig;
  rig.options.segment_size = 1024;
  ASSERT_TRUE(rig.Start().ok());
  Script script(rig);
  script.Begin();
  script.Run(24);
  rig.Settle();
  const Model::State before_last = rig.model->state();
  rig.model->Put(*rig.journal, "t", "the last");
  rig.Flush();
  const Model::State after_last = rig.model->state();
  rig.journal.reset();
  const auto image = rig.disk.Image();
  std::size_t cut = 0;
  for (const auto& [name, content] : image) {
    for (std::size_t at = 0; at < content.size(); ++at) {
      rig.disk.SetImage(image);
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      rig.disk.SetContent(name, damaged);
      const bool started = rig.Start().ok();
      const std::string torn = started ? rig.journal->torn() : "";
      rig.journal.reset();
      if (!started || SameJobs(rig.model->state(), after_last)) continue;
      ++cut;
      ASSERT_TRUE(SameJobs(rig.model->state(), before_last)) << name << " at " << at;
      ASSERT_NE(torn.find("cut off"), std::string::npos) << name << " at " << at;
    }
  }
  EXPECT_GT(cut, 0U);
}

// However little of the last write came to the disk, it is said, unless all that came is zero.
TEST(WalDamage, LastSegmentCutAtEveryByteOfItsLastFrame) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Put(*rig.journal, "t", "stays");
  rig.Flush();
  const Model::State before = rig.model->state();
  const auto [name, from] = EndOf(rig);
  rig.model->Put(*rig.journal, "t", "the last");
  rig.Flush();
  const std::uint64_t to = EndOf(rig).used;
  rig.journal.reset();
  const auto image = rig.disk.Image();
  const std::size_t mark = image.at(name).find_first_not_of('\0', from);
  const std::size_t frame = image.at(name).find_first_not_of('\0', from + kMarkSize);
  for (std::uint64_t size = from; size < to; ++size) {
    rig.disk.SetImage(image);
    rig.disk.SetContent(name, image.at(name).substr(0, size));
    ASSERT_TRUE(rig.Start().ok());
    ASSERT_TRUE(SameJobs(rig.model->state(), before)) << size;
    const bool whole = size <= mark || (size >= from + kMarkSize && size <= frame);
    ASSERT_EQ(rig.journal->torn().empty(), whole) << size - from << rig.journal->torn();
    rig.journal.reset();
  }
}

// A file that was used before holds older bytes up to its end: they are not taken for a write.
TEST(WalDamage, FullSegmentIsNotTorn) {
  std::string used_before(Rig().options.segment_size, 'x');
  std::memset(used_before.data(), 0, kSegmentHeaderSize + kEndSize);
  EncodeSegmentHeader({kWalVersion, 1, 7}, used_before.data());
  std::size_t nearly_full = 0;
  for (std::size_t size = 1700; size < used_before.size(); ++size) {
    Rig rig;
    ASSERT_EQ(rig.disk.MakeDirectory(Rig::kDirectory), 0);
    rig.disk.SetContent(std::string(Rig::kDirectory) + "/" + SegmentName(1), used_before);
    ASSERT_TRUE(rig.Start().ok());
    rig.model->Put(*rig.journal, "t", std::string(size, 'y'));
    rig.Flush();
    rig.journal.reset();
    const End end = EndOf(rig);
    const std::string content = rig.disk.Content(end.path);
    if (end.used < content.size() && end.used + kEndSize > content.size()) ++nearly_full;
    ASSERT_TRUE(rig.Start().ok());
    ASSERT_EQ(rig.journal->torn(), "") << content.size() - end.used << " bytes are left";
  }
  EXPECT_EQ(nearly_full, kEndSize - 1);
}

TEST(WalDamage, OlderSegmentCutAtEveryByte) {
  Rig rig;
  Fill(rig, true, 40);
  const Model::State before = rig.model->state();
  const auto image = rig.disk.Image();
  const std::string first = First(rig);
  for (std::size_t size = 0; size < image.at(first).size(); ++size) {
    rig.disk.SetImage(image);
    rig.disk.SetContent(first, image.at(first).substr(0, size));
    if (const Status status = rig.Start(); !status.ok()) {
      EXPECT_NE(status.message().find("at offset"), std::string::npos) << status.message();
    } else {
      EXPECT_TRUE(SameJobs(rig.model->state(), before)) << size;
    }
    rig.journal.reset();
  }
}

TEST(WalDamage, MissingSegmentIsNamed) {
  Rig rig;
  Fill(rig, true, 40);
  const auto image = rig.disk.Image();
  std::size_t refused = 0;
  for (const auto& [name, content] : image) {
    if (SegmentNumber(name.substr(name.find_last_of('/') + 1)) == 0) continue;
    auto without = image;
    without.erase(name);
    rig.disk.SetImage(without);
    const Status status = rig.Start();
    rig.journal.reset();
    if (status.ok()) continue;
    ++refused;
    EXPECT_NE(status.message().find("missing"), std::string::npos) << status.message();
  }
  EXPECT_GE(refused, 2U);
}

TEST(WalDamage, SwappedSegmentsAreFound) {
  Rig rig;
  Fill(rig, true, 40);
  auto image = rig.disk.Image();
  auto first = image.begin();
  auto second = std::next(first);
  ASSERT_NE(SegmentNumber(second->first.substr(6)), 0U);
  std::swap(first->second, second->second);
  rig.disk.SetImage(image);
  const Status status = rig.Start();
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("header is that of segment"), std::string::npos)
      << status.message();
}

TEST(WalDamage, NewerVersionIsRefusedByName) {
  Rig rig;
  Fill(rig, true, 5);
  std::string content = rig.disk.Content(First(rig));
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(content, header).ok());
  header.version = kWalVersion + 1;
  EncodeSegmentHeader(header, content.data());
  rig.disk.SetContent(First(rig), content);
  const auto image = rig.disk.Image();
  const Status status = rig.Start();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("format version " + std::to_string(kWalVersion + 1)),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(rig.disk.Image() == image);
}

TEST(WalDamage, RefusedJournalIsLeftAsItIs) {
  Rig rig;
  Fill(rig, true);
  std::string content = rig.disk.Content(First(rig));
  content[200] ^= 1;
  rig.disk.SetContent(First(rig), content);
  const auto image = rig.disk.Image();
  EXPECT_EQ(rig.Start().code(), Code::kCorrupt);
  EXPECT_TRUE(rig.disk.Image() == image);
}

}  // namespace
}  // namespace gearstalk
