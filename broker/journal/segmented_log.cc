#include "broker/journal/segmented_log.h"

#include "broker/base/check.h"

namespace gearstalk {

Compactor::Frame SegmentedLog::Append(const Record& record) {
  const Compactor::Frame frame = medium_.Write(record);
  compactor_.OnRecord(record, frame);
  return frame;
}

void SegmentedLog::AppendSettings() {
  std::size_t bytes = 0;
  state_->CaptureSettings([&](const Record& record) { bytes += medium_.Write(record).bytes; });
  compactor_.OnSettings(bytes);
  settings_bytes_ = bytes;
}

bool SegmentedLog::CarryForward() {
  Compactor::Carrier carrier{*state_, [this](const Record& record) { return WriteCarried(record); },
                             [this](std::uint64_t bytes) { return medium_.HasRoomForFrame(bytes); },
                             medium_.RoomIfFull()};
  if (medium_.ReadsBodies()) carrier.ready = [this](std::uint64_t id) { return ReadyToCarry(id); };
  return compactor_.CarryForward(carrier);
}

std::uint64_t SegmentedLog::DropDone() {
  const std::uint64_t dropped = compactor_.DropDone();
  if (dropped > 0) carried_.clear();
  return dropped;
}

// Its body is there, or is asked for.
bool SegmentedLog::ReadyToCarry(std::uint64_t id) {
  const std::uint32_t bytes = state_->BodyLeftOut(id);
  if (bytes == 0) return true;
  const auto [known, added] = carried_.try_emplace(id);
  Carried& carried = known->second;
  if (carried.here) return true;
  if (carried.lost) return carried.here = state_->RestsDamaged(id);
  if (added || (carried.again != 0 && carried.again <= medium_.Now())) {
    carried.again = 0;
    medium_.ReadToCarry(id, bytes);
  }
  return false;
}

// The record of a damaged job goes on without a body, so that nothing is kept for it.
Compactor::Frame SegmentedLog::WriteCarried(const Record& record) {
  Record whole = record;
  if (record.body_left_out > 0) {
    const auto known = carried_.find(record.id);
    GS_CHECK(known != carried_.end() && known->second.here);
    whole.body = known->second.body;
    whole.body_left_out = 0;
  }
  const Compactor::Frame frame = medium_.Write(whole);
  carried_.erase(record.id);
  return frame;
}

void SegmentedLog::TakeBody(std::uint64_t id, const BodyRead& read, bool lost) {
  const auto known = carried_.find(id);
  if (known == carried_.end()) return;  // its job is gone
  Carried& carried = known->second;
  carried.here = read.result == BodyRead::Result::kWhole;
  if (carried.here) {
    carried.body = read.body;
    return;
  }
  carried.again = medium_.Now() + kReadAgain;
  carried.lost = lost;
  if (lost && !state_->RestsDamaged(id)) unburied_.emplace_back(id, read.problem);
}

void SegmentedLog::BuryLost() {
  std::erase_if(unburied_, [this](const auto& each) {
    const auto& [id, problem] = each;
    if (!carried_.contains(id) || state_->RestsDamaged(id)) return true;
    state_->OnBody(id, {BodyRead::Result::kDamaged, {}, problem, 0});
    return false;
  });
}

}  // namespace gearstalk
