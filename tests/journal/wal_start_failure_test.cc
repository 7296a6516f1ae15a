// Calls to the disk fail while a journal that is there is opened and read.

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

#include "tests/journal/rig.h"
#include "tests/journal/script.h"

namespace gearstalk {
namespace {

using Loss = FaultyFileSystem::Loss;
using Image = std::map<std::string, std::string>;

class WalStartFailure : public testing::Test {
 protected:
  // As a crash leaves it: some segments, one that the log has left behind, and one that was
  // prepared.
  void SetUp() override {
    rig_.options.segment_size = 1024;
    ASSERT_TRUE(rig_.Start().ok());
    const std::string released = std::string(Rig::kDirectory) + "/" + SegmentName(1);
    const std::string first = rig_.disk.Content(released);
    Script script(rig_);
    script.Begin();
    script.Run(60);
    ASSERT_GT(rig_.journal->Segments().oldest, 1U);
    ASSERT_GT(rig_.journal->Segments().count, 2U);
    before_ = rig_.model->state();
    rig_.journal.reset();
    image_ = rig_.disk.Image();
    image_[released] = first;
  }

  // One call of a start fails, and `times` do from there on.
  void ExpectNothingLost(int error, std::uint64_t times) {
    bool reached = true;
    for (std::uint64_t call = 1; reached; ++call) {
      for (const Loss loss : {Loss::kNone, Loss::kAll, Loss::kSome}) {
        rig_.journal.reset();
        rig_.disk.SetImage(image_);
        const std::uint64_t at = rig_.disk.calls() + call;
        rig_.disk.FailAt(at, error, times);
        const Status started = rig_.Start();
        reached = rig_.disk.calls() >= at;
        if (started.ok()) {
          ASSERT_TRUE(SameJobs(rig_.model->state(), before_)) << call;
        } else {
          ASSERT_EQ(started.code(), Code::kIo) << call << ": " << started.message();
          ASSERT_NE(started.message().find("/data"), std::string::npos) << started.message();
        }
        rig_.journal.reset();
        rig_.disk.Restart(loss, static_cast<std::uint32_t>(call));
        const Status again = rig_.Start();
        ASSERT_TRUE(again.ok()) << call << ": " << again.message();
        ASSERT_TRUE(SameJobs(rig_.model->state(), before_)) << call;
        ASSERT_GE(rig_.model->state().next_id, before_.next_id) << call;
      }
    }
  }

  Rig rig_;
  Model::State before_;
  Image image_;
};

TEST_F(WalStartFailure, OneInputOutputError) { ExpectNothingLost(EIO, 1); }
TEST_F(WalStartFailure, InputOutputErrorsFromThereOn) { ExpectNothingLost(EIO, 1'000'000); }
TEST_F(WalStartFailure, NoSpaceOnce) { ExpectNothingLost(ENOSPC, 1); }
TEST_F(WalStartFailure, NoSpaceTwice) { ExpectNothingLost(ENOSPC, 2); }
TEST_F(WalStartFailure, NoSpaceForTenCalls) { ExpectNothingLost(ENOSPC, 10); }
TEST_F(WalStartFailure, Interrupted) { ExpectNothingLost(EINTR, 1); }

}  // namespace
}  // namespace gearstalk
