#include <algorithm>
#include <vector>

#include "broker/engine/tube.h"

namespace gearstalk {

const Job* ReadyQueue::Oldest() const {
  const Job* oldest = out_of_order_.empty() ? nullptr : out_of_order_.top();
  for (const Lane& lane : lanes_) {
    const Job* first = lane.jobs.front();
    if (first != nullptr && (oldest == nullptr || first->id() < oldest->id())) oldest = first;
  }
  return oldest;
}

// Lanes are in order, one after the other; what lies in the heap is merged in.
void ReadyQueue::VisitFirst(std::size_t bound, const std::function<void(const Job&)>& visit) const {
  std::vector<const Job*> later;
  out_of_order_.VisitFirst(bound, [&](const Job& job) { later.push_back(&job); });
  auto next = later.begin();
  for (const Lane& lane : lanes_) {
    for (const Job* job = lane.jobs.front(); job != nullptr; job = JobList::After(*job)) {
      for (; next != later.end() && bound > 0 && MoreUrgent(**next, *job); --bound) {
        visit(**next++);
      }
      if (bound == 0) return;
      --bound;
      visit(*job);
    }
  }
  for (; next != later.end() && bound > 0; --bound) visit(**next++);
}

// The lane of this priority, or else the first of a less urgent one.
ReadyQueue::Lane* ReadyQueue::FindLane(std::uint32_t priority) {
  return std::find_if(lanes_.data(), EndOfLanes(),
                      [=](const Lane& lane) { return lane.priority >= priority; });
}

void ReadyQueue::Push(Job* job) {
  ++size_;
  job->out_of_order = !Append(job);
  if (job->out_of_order) out_of_order_.Push(job->priority, job);
}

// Whether it found a place at one end of a lane.
bool ReadyQueue::Append(Job* job) {
  Lane* lane = FindLane(job->priority);
  if (lane == EndOfLanes() || lane->priority != job->priority) {
    lane = MakeLane(lane, job->priority);
    if (lane == nullptr) return false;
  }
  JobList& jobs = lane->jobs;
  if (jobs.empty() || jobs.back()->id() < job->id()) {
    jobs.PushBack(job);
    return true;
  }
  if (job->id() > jobs.front()->id()) return false;
  jobs.PushFront(job);
  return true;
}

// A lane for another priority, before `next`; nullptr: there are enough.
ReadyQueue::Lane* ReadyQueue::MakeLane(const Lane* next, std::uint32_t priority) {
  if (lanes_.size() == 1 && lanes_.front().jobs.empty()) {
    lanes_.front().priority = priority;
    return &lanes_.front();
  }
  if (lanes_.size() == kLanes) return nullptr;
  return &*lanes_.insert(lanes_.begin() + (next - lanes_.data()), Lane{priority, {}});
}

void ReadyQueue::Remove(Job* job) {
  --size_;
  if (job->out_of_order) {
    out_of_order_.Remove(job);
    job->out_of_order = false;
    return;
  }
  Lane* const lane = FindLane(job->priority);
  lane->jobs.Remove(job);
  if (lane->jobs.empty() && lanes_.size() > 1) {
    lanes_.erase(lanes_.begin() + (lane - lanes_.data()));
  }
}

}  // namespace gearstalk
