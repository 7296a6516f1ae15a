#include "broker/engine/tube.h"

namespace gearstalk {

bool ReadyQueue::Order::operator()(const Job* a, const Job* b) const { return MoreUrgent(*a, *b); }

Job* ReadyQueue::front() const {
  Job* lane = lanes_.empty() ? nullptr : lanes_.begin()->second.front();
  if (late_.empty()) return lane;
  Job* late = *late_.begin();
  return lane == nullptr || MoreUrgent(*late, *lane) ? late : lane;
}

void ReadyQueue::Push(Job* job) {
  ++size_;
  auto found = lanes_.find(job->priority);
  if (found == lanes_.end()) {
    if (lanes_.size() == 1 && lanes_.begin()->second.empty()) lanes_.clear();
    found = lanes_.emplace(job->priority, JobList{}).first;
  }
  JobList& lane = found->second;
  job->late_ = false;
  if (lane.empty() || lane.back()->id() < job->id()) {
    lane.PushBack(job);
  } else if (job->id() < lane.front()->id()) {
    lane.PushFront(job);
  } else {
    job->late_ = true;
    late_.insert(job);
  }
}

void ReadyQueue::Remove(Job* job) {
  --size_;
  if (job->late_) {
    late_.erase(job);
    job->late_ = false;
    return;
  }
  const auto found = lanes_.find(job->priority);
  found->second.Remove(job);
  if (found->second.empty() && lanes_.size() > 1) lanes_.erase(found);
}

}  // namespace gearstalk
