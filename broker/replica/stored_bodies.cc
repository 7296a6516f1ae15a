#include "broker/replica/stored_bodies.h"

#include <algorithm>

#include "broker/base/check.h"
#include "broker/replica/batch.h"
#include "broker/replica/follower.h"

namespace gearstalk {
namespace {

constexpr char kGone[] = "its record was carried forward";

}  // namespace

void StoredBodies::Ask(std::uint64_t id, BodyUse use, const LiveJobs::Place& place) {
  GS_CHECK(place.segment != 0);
  queues_[static_cast<std::size_t>(use)].emplace(Place{place.segment, place.offset},
                                                 Request{id, use, place, boot_()});
}

std::uint64_t StoredBodies::oldest() const {
  std::uint64_t oldest = UINT64_MAX;
  for (const Queue& queue : queues_) {
    if (!queue.empty()) oldest = std::min(oldest, queue.begin()->first.first);
  }
  for (const Request& request : alone_) oldest = std::min(oldest, request.place.segment);
  for (const Run& run : reading_) oldest = std::min(oldest, run.segment);
  return oldest;
}

void StoredBodies::Send(Revision fence) {
  if (!reading_.empty()) return;
  FailWhatIsGone();
  if (!alone_.empty()) {
    Extend(reading_.emplace_back(), alone_.front());
    alone_.pop_front();
  }
  const bool alone = !reading_.empty();
  for (std::size_t use = 0, bytes = 0; use < kUses && !alone; ++use) bytes = TakeFrom(use, bytes);
  if (reading_.empty()) return;
  std::vector<PartPiece> pieces;
  for (Run& run : reading_) {
    space_.Locate(run.segment, run.from, run.to, run.pieces);
    pieces.insert(pieces.end(), run.pieces.begin(), run.pieces.end());
  }
  store_.Fetch(fence, pieces,
               [this](const StoreResult& result, const std::vector<std::string>& got) {
                 OnPieces(result, got);
               });
}

void StoredBodies::FailWhatIsGone() {
  std::vector<Request> gone;
  for (Queue& queue : queues_) {
    while (!queue.empty() && space_.IsGone(queue.begin()->first.first)) {
      gone.push_back(queue.begin()->second);
      queue.erase(queue.begin());
    }
  }
  std::erase_if(alone_, [&](const Request& request) {
    const bool is_gone = space_.IsGone(request.place.segment);
    if (is_gone) gone.push_back(request);
    return is_gone;
  });
  for (const Request& request : gone) {
    on_read_(request, {BodyRead::Result::kFailed, {}, kGone, 0});
  }
}

// Whether a read of so many bytes may have the request's, too.
bool StoredBodies::Fits(const Request& request, std::uint64_t bytes) const {
  const LiveJobs::Place& place = request.place;
  return space_.IsStored(place.segment, place.end()) &&
         (bytes == 0 || bytes + place.bytes <= kMostRead);
}

// Adds requests of one use to the read; returns how many bytes it has then.
std::uint64_t StoredBodies::TakeFrom(std::size_t use, std::uint64_t bytes) {
  Queue& queue = queues_[use];
  auto at = queue.lower_bound(next_[use]);
  if (at == queue.end() || !Fits(at->second, 0)) at = queue.begin();
  while (at != queue.end() && Fits(at->second, bytes)) {
    const Request& request = at->second;
    const Run* const last = reading_.empty() ? nullptr : &reading_.back();
    const bool near = last != nullptr && last->segment == request.place.segment &&
                      request.place.offset >= last->from &&
                      request.place.offset <= last->to + kMostGap;
    if (!near && reading_.size() == kMostRuns) break;
    bytes += Extend(near ? reading_.back() : reading_.emplace_back(), request);
    next_[use] = {request.place.segment, request.place.end()};
    at = queue.erase(at);
  }
  return bytes;
}

// Returns by how many bytes the run has grown.
std::uint64_t StoredBodies::Extend(Run& run, const Request& request) {
  const std::uint64_t before = run.to - run.from;
  if (run.requests.empty()) run = {request.place.segment, request.place.offset, 0, {}, {}};
  run.to = std::max(run.to, request.place.end());
  run.requests.push_back(request);
  return run.to - run.from - before;
}

void StoredBodies::OnPieces(const StoreResult& result, const std::vector<std::string>& pieces) {
  if (result.answer == StoreAnswer::kFailed) return OnFailure(result.why);
  const std::vector<Run> runs = std::exchange(reading_, {});
  if (!result.done()) return on_end_(result);
  auto got = pieces.begin();
  for (const Run& run : runs) {
    std::string bytes;
    for (const PartPiece& piece : run.pieces) {
      bytes.append(*got, 0, piece.size);
      bytes.append(piece.size - std::min<std::size_t>(piece.size, got++->size()), '\0');
    }
    for (const Request& request : run.requests) {
      Answer(request,
             std::string_view(bytes).substr(request.place.offset - run.from, request.place.bytes));
    }
  }
}

void StoredBodies::OnFailure(const Status& why) {
  const std::vector<Run> runs = std::exchange(reading_, {});
  if (runs.size() == 1 && runs.front().requests.size() == 1) {
    const Request& request = runs.front().requests.front();
    const bool damaged = why.code() == Code::kCorrupt;
    return on_read_(request, {damaged ? BodyRead::Result::kDamaged : BodyRead::Result::kFailed,
                              {},
                              why.message(),
                              boot_() - request.asked});
  }
  for (const Run& run : runs) {
    alone_.insert(alone_.end(), run.requests.begin(), run.requests.end());
  }
}

void StoredBodies::Answer(const Request& request, std::string_view frame) {
  const Time took = boot_() - request.asked;
  ReplicaFrame read;
  const bool whole = ReadFrame(frame, read) && read.size == frame.size() && !read.body.empty() &&
                     LogSpace::CheckOf(request.id, read.body) == request.place.check;
  if (whole) return on_read_(request, {BodyRead::Result::kWhole, read.body, {}, took});
  if (space_.IsGone(request.place.segment)) {
    return on_read_(request, {BodyRead::Result::kFailed, {}, kGone, took});
  }
  std::vector<PartPiece> places;
  space_.Locate(request.place.segment, request.place.offset, request.place.end(), places);
  const std::string problem = PartName(places.front().seq) + " at offset " +
                              std::to_string(places.front().offset) + ": the record of job " +
                              std::to_string(request.id) + " is damaged";
  on_read_(request, {BodyRead::Result::kDamaged, {}, problem, took});
}

}  // namespace gearstalk
