#include <algorithm>
#include <vector>

#include "broker/engine/tube.h"

namespace gearstalk {

Job* ReadyQueue::front() const {
  Job* lane = lanes_.empty() ? nullptr : lanes_.front().jobs.front();
  if (out_of_order_.empty()) return lane;
  Job* next = out_of_order_.top();
  return lane == nullptr || MoreUrgent(*next, *lane) ? next : lane;
}

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

ReadyQueue::Lanes::iterator ReadyQueue::FindLane(std::uint32_t priority) {
  return std::find_if(lanes_.begin(), lanes_.end(),
                      [=](const Lane& lane) { return lane.priority >= priority; });
}

void ReadyQueue::Push(Job* job) {
  ++size_;
  job->out_of_order_ = !Append(job);
  if (job->out_of_order_) out_of_order_.Push(job->priority, job);
}

// Whether it found a place at one end of a lane.
bool ReadyQueue::Append(Job* job) {
  auto lane = FindLane(job->priority);
  if (lane == lanes_.end() || lane->priority != job->priority) {
    if (lanes_.size() == 1 && lanes_.front().jobs.empty()) {
      lanes_.front().priority = job->priority;
      lane = lanes_.begin();
    } else if (lanes_.size() < kLanes) {
      lane = lanes_.insert(lane, Lane{job->priority, {}});
    } else {
      return false;
    }
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

void ReadyQueue::Remove(Job* job) {
  --size_;
  if (job->out_of_order_) {
    out_of_order_.Remove(job);
    job->out_of_order_ = false;
    return;
  }
  const auto lane = FindLane(job->priority);
  lane->jobs.Remove(job);
  if (lane->jobs.empty() && lanes_.size() > 1) lanes_.erase(lane);
}

}  // namespace gearstalk
