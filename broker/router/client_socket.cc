#include "broker/router/client_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "broker/base/check.h"
#include "broker/router/router.h"

namespace gearstalk {

using link::Kind;
using Reading = Transport::Reading;

namespace {

// As much as a broker without routers reads of a client in a round.
constexpr int kFramesAtOnce = 3;

iovec PieceOf(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

ClientSocket::ClientSocket(Router& router, std::uint32_t number, int fd, TlsUse tls)
    : router_(router),
      number_(number),
      transport_(std::make_unique<SocketTransport>(router.sockets(), fd, tls,
                                                   static_cast<TransportEvents&>(*this))) {
  transport_->SetReading(Reading::kOn);
  Wait();
}

// A handshake that is under way has a limit, and so has a client that takes nothing at its end.
void ClientSocket::Wait() {
  if (transport_->handshaking()) router_.NoteHandshake(*this);
}

void ClientSocket::Hear() {
  for (int frames = 0; frames < kFramesAtOnce && HearFrame();) ++frames;
}

// False: there is nothing more, or it must wait.
bool ClientSocket::HearFrame() {
  if (transport_ == nullptr || closing_ || ended_ || credit_ <= 0) return false;
  if (shaking_hook.is_linked()) return false;
  if (transport_->shakes() && !router_.TakeHandshake()) {
    router_.ShakeLater(*this);
    return false;
  }
  const std::size_t most = std::min<std::size_t>(static_cast<std::size_t>(credit_),
                                                 link::kMaxData - Transport::kMaxRecord);
  // Straight to the link, unless the end of a handshake may come before it.
  std::span<char> space;
  if (!transport_->handshaking()) space = router_.link().Space(most + Transport::kMaxRecord);
  const bool in_place = !space.empty();
  if (!in_place) space = router_.buffer().first(most + Transport::kMaxRecord);
  const Transport::Received got = transport_->Read({}, space, most);
  router_.CountReceived(got.network);
  if (got.answers) router_.NoteDirty(*this);
  if (got.rest > 0) {
    in_place ? router_.link().AddWritten(number_, got.rest)
             : router_.link().AddData(number_, {space.data(), got.rest});
    credit_ -= static_cast<std::int64_t>(got.rest);
    if (credit_ <= 0) transport_->SetReading(Reading::kWatchClose);
  } else if (transport_->handshaking()) {
    Wait();
    if (transport_->waits_to_shake()) router_.ShakeLater(*this);
  }
  if (got.then != Transport::Received::Then::kOpen) {
    Fail(got.then);
    return false;
  }
  return got.rest >= most;
}

// The socket has nothing more to give.
void ClientSocket::Fail(Transport::Received::Then how) {
  if (how == Transport::Received::Then::kBroken) return Break();
  transport_->SetReading(Reading::kOff);
  ended_ = true;
  if (how == Transport::Received::Then::kEnd) return router_.Send(number_, Kind::kEnd, {});
  const Transport::Failure failure = transport_->failure();
  const auto trouble = failure.refusal ? link::Trouble::kTls : link::Trouble::kTlsLater;
  router_.Send(number_, Kind::kReset,
               link::Encode(link::Reset{.trouble = trouble, .reason = failure.error}));
  // The client hears why; the broker's CLOSE ends it.
  transport_->Flush(true);
}

void ClientSocket::GiveUp() {
  transport_->SetReading(Reading::kOff);
  ended_ = true;
  router_.Send(number_, Kind::kReset, link::Encode(link::Reset{.trouble = link::Trouble::kSlow}));
}

void ClientSocket::Break() {
  transport_.reset();
  router_.Send(number_, Kind::kReset, link::Encode(link::Reset{}));
  router_.NoteDirty(*this);
}

void ClientSocket::Abandon() {
  transport_.reset();
  router_.NoteDirty(*this);
}

// Nothing is read for want of credit.
void ClientSocket::OnHangUp() {
  if (transport_ == nullptr || transport_->reading() != Reading::kWatchClose) return;
  transport_->SetReading(Reading::kOff);
  if (!std::exchange(hung_up_, true)) router_.Send(number_, Kind::kHangUp, {});
}

void ClientSocket::OnWritable() { router_.NoteDirty(*this); }

void ClientSocket::OnSecured(std::string certificate) {
  router_.CountHandshake();
  if (waiting_hook.is_linked()) waiting_hook.unlink();
  router_.Send(number_, Kind::kSecured, certificate);
}

bool ClientSocket::OnData(std::string_view bytes) {
  if (closing_ || bytes.size() > granted_) return false;
  granted_ -= bytes.size();
  fresh_.push_back(bytes);
  router_.NoteDirty(*this);
  return true;
}

bool ClientSocket::OnCredit(std::uint32_t granted) {
  credit_ += granted;
  if (closing_ || credit_ > static_cast<std::int64_t>(link::kMaxWindow)) return closing_;
  if (transport_ != nullptr && !ended_ && credit_ > 0) transport_->SetReading(Reading::kOn);
  return true;
}

bool ClientSocket::OnClose(bool ends_well) {
  if (closing_) return false;
  closing_ = true;
  ends_well_ = ends_well;
  if (transport_ != nullptr) {
    transport_->SetReading(Reading::kOff);
    router_.NoteClosing(*this);
  }
  router_.NoteDirty(*this);
  return true;
}

// What was left over goes with what is new, in one write where it can. False: the socket is broken.
bool ClientSocket::SendAll(std::size_t& sent) {
  std::size_t next = 0;  // of fresh_
  bool good = true;
  while (!out_.empty() || next < fresh_.size()) {
    std::array<iovec, 16> pieces;
    std::size_t count = 0;
    if (!out_.empty()) pieces[count++] = PieceOf(out_.view());
    for (std::size_t i = next; i < fresh_.size() && count < pieces.size(); ++i) {
      pieces[count++] = PieceOf(fresh_[i]);
    }
    const ssize_t taken = transport_->Write(pieces.data(), static_cast<int>(count));
    if (taken < 0 && errno == EINTR) continue;
    good = taken >= 0 || errno == EAGAIN;
    if (taken < 0) break;
    sent += static_cast<std::size_t>(taken);
    auto rest = static_cast<std::size_t>(taken);
    const std::size_t of_out = std::min(rest, out_.size());
    out_.Consume(of_out);
    rest -= of_out;
    for (; rest > 0 && rest >= fresh_[next].size(); ++next) rest -= fresh_[next].size();
    if (rest > 0) fresh_[next].remove_prefix(rest);
  }
  for (; next < fresh_.size(); ++next) out_.Append(fresh_[next]);
  fresh_.clear();
  return good;
}

bool ClientSocket::Flush() {
  if (transport_ == nullptr) {
    Drop();
  } else {
    std::size_t sent = 0;
    const bool good = SendAll(sent);
    delivered_ += sent;
    router_.CountSent(sent);
    flows_ = out_.empty() && (sent >= link::kWindow / 2 || (flows_ && sent == 0));
    auto flushed = good ? transport_->Flush(closing_ && out_.empty() && ends_well_)
                        : Transport::Flushed::kBroken;
    if (flushed == Transport::Flushed::kAll && !out_.empty()) flushed = Transport::Flushed::kSome;
    const bool waits = flushed == Transport::Flushed::kSome;
    if (flushed == Transport::Flushed::kBroken) {
      closing_ ? transport_.reset() : Break();
      Drop();
    } else if (std::exchange(writing_, waits) != waits) {
      transport_->WatchWriting(waits);
    }
    if (closing_ && waits && sent > 0) router_.NoteClosing(*this);
    if (closing_ && waits) return true;
  }
  if (!closing_) Report();
  return !closing_;
}

// Counts as delivered, so that windows come back.
void ClientSocket::Drop() {
  for (const std::string_view bytes : fresh_) delivered_ += bytes.size();
  fresh_.clear();
  delivered_ += out_.size();
  out_.Assign({});
}

void ClientSocket::Report() {
  // Otherwise a broker without a window would wait for ever.
  GS_CHECK(!out_.empty() || granted_ + delivered_ > 0);
  if (delivered_ < link::kReportFrom) return;
  const std::size_t target = flows_ ? link::kMaxWindow : link::kWindow;
  const std::size_t held = granted_ + out_.size();
  const std::size_t more = target > held ? target - held : 0;
  const std::string credit =
      link::Encode(link::Credit{.delivered = static_cast<std::uint32_t>(delivered_),
                                .granted = static_cast<std::uint32_t>(more)});
  // The broker can go on without it while most of the window is left.
  granted_ > link::kWindow / 2 ? router_.SendLater(number_, Kind::kCredit, credit)
                               : router_.Send(number_, Kind::kCredit, credit);
  granted_ += more;
  delivered_ = 0;
}

}  // namespace gearstalk
