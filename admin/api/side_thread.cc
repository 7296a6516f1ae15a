#include "admin/api/side_thread.h"

namespace gearstalk::api {

SideThread::Ticket SideThread::Do(std::function<void()> work) {
  const Ticket ticket = ++last_;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({ticket, std::move(work)});
    workers_.Wake();
  }
  if (!workers_.started()) workers_.Start(1);
  if (!workers_.started()) workers_.Work();
  return ticket;
}

void SideThread::Drop(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Piece& piece) { return piece.ticket == ticket; });
}

void SideThread::DoOne(Workers::Lock& lock) {
  const std::function<void()> work = std::move(waiting_.front().work);
  waiting_.pop_front();
  lock.unlock();
  work();
  lock.lock();
}

Task OnSideThread(SideThread& thread, std::function<std::string()> work) {
  SideResult<std::string> text(thread, std::move(work));
  while (!text.done()) co_await NextSlice();
  if (!(*text).has_value()) co_return NoMemory();
  Reply reply;
  reply.body = *std::move(*text);
  co_return reply;
}

}  // namespace gearstalk::api
