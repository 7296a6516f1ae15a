#include "admin/move/put_window.h"

#include <unistd.h>

#include <algorithm>

#include "broker/base/status.h"

namespace gearstalk::ctl {

PutWindows::Window& PutWindows::Current() {
  if (windows_.empty() || windows_.back().sent) windows_.emplace_back();
  return windows_.back();
}

Status PutWindows::AddPut(const Record& job, const transfer::Item& item) {
  frames_.Append(Current().frames, transfer::Type::kPut, job, item);
  return Added(true);
}

Status PutWindows::AddOutcome(const transfer::Mark& change) {
  transfer::AppendFrame(Current().frames, transfer::Type::kAdvance, change);
  return Added(false);
}

Status PutWindows::Added(bool put) {
  Window& window = windows_.back();
  bytes_ += window.frames.size() - (window.ends.empty() ? 0 : window.ends.back());
  window.ends.push_back(window.frames.size());
  window.puts.push_back(put);
  return window.ends.size() < kJobs && window.frames.size() < kBytes ? Status() : SendLast();
}

Status PutWindows::Send(const Window& window) {
  client_.AddBytes(window.frames);
  return client_.SendSync();
}

Status PutWindows::SendLast() {
  windows_.back().sent = true;
  GS_TRY(Send(windows_.back()));
  const bool room = windows_.size() < most_ && bytes_ < kBytesUnderWay;
  return room ? Status() : ReadOldest();
}

Status PutWindows::Finish() {
  if (!windows_.empty() && !windows_.back().sent) GS_TRY(SendLast());
  return Await();
}

Status PutWindows::Await() {
  while (!windows_.empty() && windows_.front().sent) GS_TRY(ReadOldest());
  return {};
}

// Removes from the window what the broker has done.
void PutWindows::Drop(Window& window, const transfer::Ack& ack) {
  const std::size_t done = std::min<std::size_t>(ack.requests, window.ends.size());
  if (done == 0) return;
  std::size_t id = 0;
  for (std::size_t i = 0; i < done; ++i) {
    ++acknowledged_;
    if (window.puts[i] && id < ack.ids.size()) on_put_(acknowledged_, ack.ids[id++]);
  }
  const std::size_t bytes = window.ends[done - 1];
  window.frames.erase(0, bytes);
  bytes_ -= bytes;
  window.ends.erase(window.ends.begin(), window.ends.begin() + static_cast<std::ptrdiff_t>(done));
  window.puts.erase(window.puts.begin(), window.puts.begin() + static_cast<std::ptrdiff_t>(done));
  for (std::size_t& end : window.ends) end -= bytes;
}

Status PutWindows::ReadOldest() {
  const transfer::Ack ack = GS_TRY(client_.ReadAck());
  Drop(windows_.front(), ack);
  if (ack.problem != transfer::Problem::kNone) return Again(ack);
  windows_.pop_front();
  return {};
}

// The windows behind the one that was not done were not done either: all are sent again, until the
// broker takes them or has been busy for too long.
Status PutWindows::Again(const transfer::Ack& problem) {
  for (std::size_t i = 1; i < windows_.size(); ++i) {
    if (!windows_[i].sent) continue;
    GS_TRY(client_.ReadAck());
  }
  transfer::Ack last = problem;
  for (int tries = 0; last.problem == transfer::Problem::kBusy && tries < 2 * kPatience; ++tries) {
    on_busy_(last.text);
    ::usleep(500'000);
    while (true) {
      Window& window = windows_.front();
      GS_TRY(Send(window));
      last = GS_TRY(client_.ReadAck());
      Drop(window, last);
      if (last.requests > 0) tries = 0;
      if (last.problem != transfer::Problem::kNone) break;
      windows_.pop_front();
      if (windows_.empty() || !windows_.front().sent) return {};
    }
  }
  return AsStatus(last);
}

}  // namespace gearstalk::ctl
