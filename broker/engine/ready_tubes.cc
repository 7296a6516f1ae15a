#include "broker/engine/ready_tubes.h"

#include <algorithm>

namespace gearstalk {
namespace {

// Up to this many tubes are compared one by one for the best job.
constexpr std::size_t kVisited = 64;
// What a hand-out adds to the pass of a tube of weight 1.
constexpr std::uint64_t kTurn = 1U << 20U;

}  // namespace

void ReadyTubes::set_fair(bool fair) {
  if (fair != fair_) fresh_.NoteAll();
  fair_ = fair;
}

void ReadyTubes::Resume(Tube& tube) {
  if (fair_) JoinTurn(tube);
  NoteFront(tube);
}

void ReadyTubes::NoteHandOut(Tube& tube, std::uint32_t weight) {
  if (!fair_) return;
  tube.pass += kTurn / weight;
  served_pass_ = tube.pass;
}

// For jobs of different tubes.
bool ReadyTubes::LeavesBefore(const Job& a, const Job& b) const {
  if (fair_ && a.priority == b.priority && a.tube().pass != b.tube().pass) {
    return a.tube().pass < b.tube().pass;
  }
  return MoreUrgent(a, b);
}

// The watched tubes that have ready jobs.
template <typename Visitor>
void ReadyTubes::Visit(const WatchList& watched, Visitor visit) const {
  if (tubes_.size() < watched.size()) {
    for (const Tube* tube : tubes_) {
      if (watched.Find(*tube) != nullptr) visit(*tube);
    }
  } else {
    for (const auto& watch : watched) {
      if (watch->tube.ready() > 0) visit(watch->tube);
    }
  }
}

Job* ReadyTubes::FrontOfMany(const WatchList& watched, std::unique_ptr<ReadyIndex>& index,
                             std::uint64_t& effort) const {
  if (std::min(tubes_.size(), watched.size()) > kVisited) {
    if (index == nullptr) index = std::make_unique<ReadyIndex>();
    return index->Best(watched, fresh_, fair_, effort);
  }
  Job* best = nullptr;
  Visit(watched, [&](const Tube& tube) {
    Job* const front = tube.FrontJob();
    if (front != nullptr && (best == nullptr || LeavesBefore(*front, *best))) best = front;
  });
  return best;
}

}  // namespace gearstalk
