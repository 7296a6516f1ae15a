#include "admin/api/side_thread.h"

#include "broker/base/threads.h"

namespace gearstalk::api {

SideThread::~SideThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  wakes_.notify_one();
  if (thread_.joinable()) thread_.join();
}

SideThread::Ticket SideThread::Do(std::function<void()> work) {
  const Ticket ticket = ++last_;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({ticket, std::move(work)});
  }
  wakes_.notify_one();
  if (!thread_.joinable()) Start();
  return ticket;
}

void SideThread::Drop(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Piece& piece) { return piece.ticket == ticket; });
}

void SideThread::Start() {
  thread_ = StartThread([this] { Run(); });
}

void SideThread::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const std::function<void()> work = std::move(waiting_.front().work);
    waiting_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

Task OnSideThread(SideThread& thread, std::function<std::string()> work) {
  SideResult<std::string> text(thread, std::move(work));
  while (!text.done()) co_await NextSlice();
  Reply reply;
  reply.body = std::move(*text);
  co_return reply;
}

}  // namespace gearstalk::api
