#include "broker/server/stream.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "broker/base/check.h"
#include "broker/server/router_link.h"

namespace gearstalk {
namespace {

// Less than its share of a busy link: it need not wait.
constexpr std::size_t kSmall = 16 * 1024;

}  // namespace

DueStreams::DueStreams(EventLoop& loop, std::function<void()> begin)
    : begin_(std::move(begin)), soon_(loop.OnSoon<&DueStreams::Tell>(*this)) {}

void DueStreams::Add(Stream& stream) {
  if (stream.due_hook.is_linked()) return;
  if (streams_.empty()) EventLoop::Soon(soon_);
  streams_.push_back(stream);
}

void DueStreams::Tell() {
  begin_();
  StreamList<&Stream::due_hook> streams;
  streams.swap(streams_);
  while (!streams.empty()) {
    Stream& stream = streams.front();
    streams.pop_front();
    stream.Tell();
  }
}

Stream::Stream(DueStreams& due, RouterLink& link, std::uint32_t number, TransportEvents& events)
    : due_(due), link_(&link), number_(number), events_(events) {
  link.Join(number, *this);
}

Stream::~Stream() {
  if (link_ != nullptr) link_->Leave(number_, under_way_, ends_well_);
}

std::size_t Stream::Take(std::span<char> space) {
  const std::string_view from = held_.empty() ? fresh_ : held_.view();
  const std::size_t size = std::min(space.size(), from.size());
  std::copy_n(from.data(), size, space.data());
  held_.empty() ? fresh_.remove_prefix(size) : held_.Consume(size);
  return size;
}

Transport::Received Stream::Read(std::span<char> body, std::span<char> buffer, std::size_t most) {
  Received received;
  buffer = buffer.first(std::min(buffer.size(), most));
  // What was held, and then what just arrived.
  for (int i = held_.empty() ? 1 : 0; i < 2; ++i) {
    if (!body.empty()) received.body += Take(body.subspan(received.body));
    if (received.body == body.size()) received.rest += Take(buffer.subspan(received.rest));
  }
  received.network = received.body + received.rest;
  GiveCredit(body.size() - received.body);
  if (!fresh_.empty() || !held_.empty() || !(ended_ || broken_)) return received;
  received.then = failed_   ? Received::Then::kFailed
                  : broken_ ? Received::Then::kBroken
                            : Received::Then::kEnd;
  return received;
}

// In large steps: a stream of small messages needs a frame for every thousand of them.
void Stream::GiveCredit(std::size_t body_left) {
  if (link_ == nullptr || ended_ || broken_) return;
  const std::size_t least = flows_ ? link::kFlowWindow : link::kWindow;
  const auto target = static_cast<std::int64_t>(std::clamp(body_left, least, link::kMaxWindow));
  const auto here = static_cast<std::int64_t>(fresh_.size() + held_.size());
  const std::int64_t wanted = target - credit_ - here;
  // Otherwise a router without credit would wait for ever.
  GS_DCHECK(credit_ > 0 || here > 0 || wanted >= target / 2);
  if (wanted < target / 2) return;
  credit_ += wanted;
  link_->SendCredit(number_, static_cast<std::uint32_t>(wanted));
}

bool Stream::Blocked() const { return link_->full() || (link_->busy() && under_way_ >= kSmall); }

bool Stream::CanWrite() const {
  if (broken_) return true;  // to learn that it is
  if (ends_well_) return pending() == 0;
  return window_ > 0 && !Blocked();
}

ssize_t Stream::Write(iovec* pieces, int count) {
  if (broken_) {
    errno = EPIPE;
    return -1;
  }
  if (!CanWrite()) {
    if (Blocked()) link_->NoteBlocked(*this);
    errno = EAGAIN;
    return -1;
  }
  std::size_t taken = 0;
  for (int i = 0; i < count && taken < window_; ++i) {
    const std::size_t part = std::min(pieces[i].iov_len, window_ - taken);
    link_->SendData(number_, {static_cast<const char*>(pieces[i].iov_base), part});
    taken += part;
  }
  window_ -= taken;
  link_->CountUnderWay(under_way_, under_way_ + taken);
  under_way_ += taken;
  return static_cast<ssize_t>(taken);
}

std::size_t Stream::pending() const { return broken_ ? 0 : RouterLink::Counted(under_way_); }

void Stream::SetReading(Reading reading) {
  if (reading_ == reading) return;
  reading_ = reading;
  muted_ = told_hang_up_ = false;
  TellLater();
}

void Stream::Mute(bool muted) {
  muted_ = muted;
  if (!muted) told_hang_up_ = false;
  TellLater();
}

void Stream::WatchWriting(bool watched) {
  writing_ = watched;
  TellLater();
}

bool Stream::HasNews() const {
  if (writing_ && CanWrite()) return true;
  if (muted_) return false;
  if (reading_ == Reading::kOn) return Readable();
  return reading_ == Reading::kWatchClose && hung_up_ && !told_hang_up_;
}

void Stream::Tell() {
  if (reading_ == Reading::kOn && !muted_ && Readable()) events_.OnReadable();
  if (reading_ == Reading::kWatchClose && !muted_ && hung_up_ && !told_hang_up_) {
    told_hang_up_ = true;
    events_.OnHangUp();
  }
  if (writing_ && CanWrite()) events_.OnWritable();
  TellLater();
}

bool Stream::TellLater() {
  if (HasNews()) {
    due_.Add(*this);
    return true;
  }
  if (writing_ && !broken_ && Blocked()) link_->NoteBlocked(*this);
  return false;
}

bool Stream::OnData(std::string_view bytes) {
  credit_ -= static_cast<std::int64_t>(bytes.size());
  if (credit_ < -static_cast<std::int64_t>(link::kMaxExcess) || ended_) return false;
  if (broken_) return true;
  fresh_ = bytes;
  flows_ = bytes.size() >= (flows_ ? link::kWindow / 8 : link::kWindow / 2);
  if (reading_ == Reading::kOn && !muted_) events_.OnReadable();
  if (!fresh_.empty()) held_.Append(fresh_);
  fresh_ = {};
  TellLater();
  return true;
}

void Stream::OnSecured(std::string_view certificate) {
  events_.OnSecured(std::string(certificate));
}

void Stream::OnHangUp() {
  hung_up_ = true;
  Tell();
}

void Stream::OnEnd() {
  hung_up_ = ended_ = true;
  Tell();
}

void Stream::OnReset(const link::Reset& reset) {
  using link::Trouble;
  hung_up_ = broken_ = true;
  failed_ = reset.trouble != Trouble::kReset;
  reason_ = reset.reason;
  if (reset.trouble == Trouble::kTls) refusal_ = Refusal::kTls;
  if (reset.trouble == Trouble::kSlow) refusal_ = Refusal::kHandshakeTimeout;
  Tell();
}

bool Stream::OnCredit(const link::Credit& credit) {
  if (credit.delivered > under_way_ || window_ + credit.granted > link::kMaxWindow) return false;
  link_->CountUnderWay(under_way_, under_way_ - credit.delivered);
  under_way_ -= credit.delivered;
  window_ += credit.granted;
  Tell();
  return true;
}

void Stream::OnLost() {
  link_ = nullptr;
  hung_up_ = broken_ = true;
  Tell();
}

}  // namespace gearstalk
