#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/journal/journal.h"
#include "broker/journal/live_jobs.h"
#include "broker/replica/log_space.h"
#include "broker/replica/log_store.h"

namespace gearstalk {

// Reads bodies back out of the store. One read is under way at a time; what is asked for meanwhile
// is in the next one: the most urgent use first, in the order of the log, neighbours together. A
// body is handed out only out of a whole frame, and if it is the one that was appended.
//
// A read that fails for one of its bodies is made again for each of them alone.
class StoredBodies {
 public:
  struct Request {
    std::uint64_t id = 0;
    BodyUse use = BodyUse::kReply;
    LiveJobs::Place place;
    Time asked = 0;
  };
  // Called from within Send or an answer of the store.
  using OnRead = std::function<void(const Request&, const BodyRead&)>;
  // The store's answer is that this broker does not lead, or that no other will come.
  using OnEnd = std::function<void(const StoreResult&)>;

  // All outlive it, and it outlives the calls of the store.
  StoredBodies(LogStore& store, const LogSpace& space, const std::function<Time()>& boot,
               OnRead on_read, OnEnd on_end)
      : store_(store),
        space_(space),
        boot_(boot),
        on_read_(std::move(on_read)),
        on_end_(std::move(on_end)) {}

  // The frame may not be stored yet.
  void Ask(std::uint64_t id, BodyUse use, const LiveJobs::Place& place);
  // Sends the next read, if it is time. `fence` 0: for a broker that does not lead, whose segments
  // may leave the log before they were read.
  void Send(Revision fence);
  // The oldest segment of which something was asked for and is not answered: its parts have to
  // stay. UINT64_MAX: there is none.
  std::uint64_t oldest() const;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // segment and offset
  using Queue = std::multimap<Place, Request>;
  // Neighbours, and the bytes of their segment that are read for them.
  struct Run {
    std::uint64_t segment = 0, from = 0, to = 0;
    std::vector<Request> requests;
    std::vector<PartPiece> pieces;
  };

  static constexpr std::size_t kUses = 4;
  static constexpr std::uint64_t kMostRead = 1 << 20;  // bytes of a read of several bodies
  static constexpr std::uint64_t kMostGap = 16 << 10;  // bytes that are read in vain
  static constexpr std::size_t kMostRuns = 64;

  void FailWhatIsGone();
  bool Fits(const Request& request, std::uint64_t bytes) const;
  std::uint64_t TakeFrom(std::size_t use, std::uint64_t bytes);
  static std::uint64_t Extend(Run& run, const Request& request);
  void OnPieces(const StoreResult& result, const std::vector<std::string>& pieces);
  void OnFailure(const Status& why);
  void Answer(const Request& request, std::string_view frame);

  LogStore& store_;
  const LogSpace& space_;
  const std::function<Time()>& boot_;
  const OnRead on_read_;
  const OnEnd on_end_;
  std::array<Queue, kUses> queues_;
  std::array<Place, kUses> next_{};  // where the last read of each use ended
  std::deque<Request> alone_;        // to be read each by itself
  std::vector<Run> reading_;         // under way; empty: nothing is
};

}  // namespace gearstalk
