#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "broker/base/clock.h"
#include "broker/journal/compactor.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"

namespace gearstalk {

// What a segmented log lies on: files, or the parts of a store.
class Medium {
 public:
  // Adds the record's frame to the current segment, or to the next one, which it begins then with
  // SegmentedLog::AppendSettings.
  virtual Compactor::Frame Write(const Record& record) = 0;
  // Whether there is space for a frame of so many bytes.
  virtual bool HasRoomForFrame(std::uint64_t /*bytes*/) const { return true; }
  // The bytes that are left while it is full, or nearly; nullopt: it is not.
  virtual std::optional<std::uint64_t> RoomIfFull() const = 0;
  // Whether bodies can be read back.
  virtual bool ReadsBodies() const = 0;
  // Reads the body of a live job, of so many bytes. SegmentedLog::TakeBody is called with it in a
  // later round.
  virtual void ReadToCarry(std::uint64_t id, std::uint32_t bytes) = 0;
  // By the clock that says when a read is tried again.
  virtual Time Now() const = 0;

 protected:
  ~Medium() = default;
};

// The log of a journal, in segments: each begins with all settings, and the oldest one leaves the
// log when its live jobs have been carried forward, with bodies that are read back for that. When a
// segment is full is the medium's concern. The loop's thread only.
class SegmentedLog {
 public:
  explicit SegmentedLog(Medium& medium) : medium_(medium) {}

  // Called once, before anything below. The state has to outlive the log.
  void SetState(LiveState& state) { state_ = &state; }
  // Segments begin and are sized there, and records that others wrote are counted.
  Compactor& compactor() { return compactor_; }
  const Compactor& compactor() const { return compactor_; }

  Compactor::Frame Append(const Record& record);
  // The next id and all settings, so that older segments are not needed for them.
  void AppendSettings();
  // The bytes of those in the current segment.
  std::size_t settings_bytes() const { return settings_bytes_; }

  // Carries live jobs out of the oldest segment; see Compactor::CarryForward.
  bool CarryForward();
  // See Compactor::DropDone.
  std::uint64_t DropDone();

  // Whether the body of a job is still wanted.
  bool WantsBody(std::uint64_t id) const { return carried_.contains(id); }
  // The answer to Medium::ReadToCarry. `lost`: the job goes on without its body, once it is buried
  // as damaged; otherwise a read that failed is tried again.
  void TakeBody(std::uint64_t id, const BodyRead& read, bool lost);
  // Tells the state again of lost bodies whose jobs are not buried: a reserved one is when it comes
  // back.
  void BuryLost();
  bool HasUnburied() const { return !unburied_.empty(); }

 private:
  // The body of a job that is carried.
  struct Carried {
    bool here = false;  // or the job goes on without it
    bool lost = false;
    Time again = 0;  // when a failed read is tried again; 0: it is under way
    std::string body;
  };

  bool ReadyToCarry(std::uint64_t id);
  Compactor::Frame WriteCarried(const Record& record);

  Medium& medium_;
  LiveState* state_ = nullptr;
  Compactor compactor_;
  std::size_t settings_bytes_ = 0;
  absl::flat_hash_map<std::uint64_t, Carried> carried_;          // those without a body in memory
  std::vector<std::pair<std::uint64_t, std::string>> unburied_;  // and what is wrong with them
};

}  // namespace gearstalk
