#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_reader.h"
#include "broker/journal/wal/wal_salvage.h"
#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

constexpr const char* kSegment = "/data/0000000001.wal";

struct Place {
  std::uint64_t offset;
  std::uint32_t record, body;  // bytes
};

std::vector<Place> FramesOf(const std::string& segment, const SegmentHeader& header) {
  std::vector<Place> frames;
  SegmentReader reader(segment, header);
  for (;;) {
    const SegmentReader::Item item = reader.Next();
    if (item == SegmentReader::Item::kEnd || item == SegmentReader::Item::kBad) return frames;
    if (item != SegmentReader::Item::kRecord) continue;
    frames.push_back({reader.offset(), static_cast<std::uint32_t>(reader.frame().record.size()),
                      static_cast<std::uint32_t>(reader.frame().body.size())});
  }
}

// Records that say anything at all, below checksums that are right: a check names the segment or
// has nothing to say, and a salvage leaves a journal in which a check finds no damage.
TEST(WalSenseless, ContentsAreNamedOrKeptByCheckAndSalvage) {
  Rig rig;
  ASSERT_TRUE(rig.Start().ok());
  rig.model->Set(*rig.journal, "t", {true, {1, 2, 3}, 4, 5});
  for (int i = 0; i < 8; ++i) {
    rig.model->Put(*rig.journal, "t", std::string(40, 'b'));
    rig.Flush();
  }
  ASSERT_TRUE(rig.journal->Close().ok());
  rig.journal.reset();
  const std::map<std::string, std::string> image = rig.disk.Image();
  const std::string& segment = image.at(kSegment);
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(segment, header).ok());
  const std::vector<Place> frames = FramesOf(segment, header);
  ASSERT_GT(frames.size(), 8U);
  std::mt19937_64 random(34);
  int named = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string changed = segment;
    const Place& frame = frames[random() % frames.size()];
    char* const at = changed.data() + frame.offset;
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      at[kFrameHeaderSize + random() % frame.record] = static_cast<char>(random());
    }
    SealFrame(at, frame.record, frame.body, header.salt, frame.offset);
    rig.disk.SetImage(image);
    rig.disk.SetContent(kSegment, changed);
    std::string report;
    const Status checked = CheckJournal(rig.disk, "/data", report);
    if (!checked.ok()) {
      ++named;
      ASSERT_NE(report.find(kSegment), std::string::npos) << round << "\n" << report;
    }
    ASSERT_TRUE(SalvageJournal(rig.disk, "/data", report, rig.options.segment_size).ok()) << round;
    report.clear();
    ASSERT_TRUE(CheckJournal(rig.disk, "/data", report).ok()) << round << "\n" << report;
  }
  EXPECT_GT(named, 100);
}

}  // namespace
}  // namespace gearstalk
