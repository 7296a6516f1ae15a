// Damage by lot to a journal whose contents are known, before and after a clean stop: a start
// either refuses and names it, or gives what a crash could have left; a salvage gives every record
// that can be read, counts the others, and gives out no id again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_salvage.h"
#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

using Image = std::map<std::string, std::string>;

struct Journals {
  Image image;
  Model::State whole;
  // What was there after each record of the newest segment; only after a crash can one of them be
  // what is read back.
  std::vector<Model::State> prefixes;
};

Journals Make(bool ended, std::mt19937& lot) {
  Rig rig;
  Journals made;
  EXPECT_TRUE(rig.Start().ok());
  made.prefixes.push_back(rig.model->state());
  for (int i = 0; i < 60; ++i) {
    for (std::uint64_t jobs = 1 + lot() % 4; jobs > 0; --jobs) {
      const std::uint64_t segment = rig.journal->Segments().current;
      rig.model->Put(*rig.journal, "t", std::string(1 + lot() % 120, 'a'));
      if (rig.journal->Segments().current != segment) {
        made.prefixes.erase(made.prefixes.begin(), made.prefixes.end() - 1);
      }
      made.prefixes.push_back(rig.model->state());
    }
    rig.Flush();
  }
  if (ended) {
    EXPECT_TRUE(rig.journal->Close().ok());
  }
  rig.journal.reset();
  made.image = rig.disk.Image();
  made.whole = rig.model->state();
  return made;
}

// One kind of damage to one file; returns what was done.
std::string Damage(Image& image, std::mt19937& lot) {
  std::vector<std::string> names;
  for (const auto& [name, content] : image) {
    if (!content.empty()) names.push_back(name);
  }
  const std::string name = names[lot() % names.size()];
  std::string& content = image[name];
  const std::size_t at = lot() % content.size();
  const std::size_t size = 1 + lot() % std::min<std::size_t>(64, content.size() - at);
  const std::string where = name + " at " + std::to_string(at) + ", " + std::to_string(size) + ": ";
  switch (lot() % 6) {
    case 0:
      content[at] = static_cast<char>(content[at] ^ (1 << lot() % 8));
      return where + "flipped";
    case 1:
      content.resize(at);
      return where + "cut";
    case 2:
      image.erase(name);
      return where + "removed";
    case 3:
      content.replace(at, size, size, '\0');
      return where + "zeroed";
    case 4:
      content.insert(at, std::string(size, static_cast<char>(lot())));
      return where + "inserted";
    default:
      content.insert(at, content.substr(at, size));
      return where + "duplicated";
  }
}

class WalRandomDamage : public testing::TestWithParam<bool> {
 protected:
  bool Explained(const Journals& made, const Model::State& found) const {
    if (GetParam()) return found == made.whole;
    return std::any_of(made.prefixes.begin(), made.prefixes.end(),
                       [&](const Model::State& state) { return SameJobs(found, state); });
  }

  void ExpectRescue(const Journals& made, const Image& damaged) {
    Rig rig;
    rig.disk.SetImage(damaged);
    std::string report;
    ASSERT_EQ(CheckJournal(rig.disk, Rig::kDirectory, report).code(), Code::kCorrupt);
    ASSERT_NE(report.find("damaged: "), std::string::npos) << report;
    report.clear();
    const Status salvaged =
        SalvageJournal(rig.disk, Rig::kDirectory, report, rig.options.segment_size);
    ASSERT_TRUE(salvaged.ok()) << salvaged.message();
    ASSERT_EQ(report.find("nothing was lost"), std::string::npos) << report;
    const Status started = rig.Start();
    ASSERT_TRUE(started.ok()) << started.message();
    const Model::State& found = rig.model->state();
    ASSERT_GE(found.next_id, made.whole.next_id);
    for (const auto& [id, job] : found.jobs) ASSERT_EQ(job, made.whole.jobs.at(id));
    // Each record is a job, or the next id at the start of a segment.
    const std::size_t missing = made.whole.jobs.size() - found.jobs.size();
    if (missing > 0) {
      ASSERT_EQ(report.find("\n0 records were lost"), std::string::npos) << report;
    }
  }
};

TEST_P(WalRandomDamage, IsRefusedOrChangesNothing) {
  const char* rounds = std::getenv("GEARSTALK_DAMAGES");
  std::mt19937 lot(GetParam() ? 1 : 2);
  std::size_t refused = 0;
  const Journals made = Make(GetParam(), lot);
  for (int round = rounds == nullptr ? 500 : std::atoi(rounds); round > 0; --round) {
    Image image = made.image;
    const std::string done = Damage(image, lot);
    SCOPED_TRACE(done);
    Rig rig;
    rig.disk.SetImage(image);
    const Status started = rig.Start();
    if (started.ok()) {
      ASSERT_TRUE(Explained(made, rig.model->state()));
      continue;
    }
    ++refused;
    ASSERT_EQ(started.code(), Code::kCorrupt) << started.message();
    ASSERT_NE(started.message().find("at offset"), std::string::npos) << started.message();
    ExpectRescue(made, image);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(refused, 100U);
}

INSTANTIATE_TEST_SUITE_P(CrashAndCleanStop, WalRandomDamage, testing::Bool());

}  // namespace
}  // namespace gearstalk
