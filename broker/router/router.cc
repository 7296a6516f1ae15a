#include "broker/router/router.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

#include "broker/base/check.h"
#include "broker/base/split.h"
#include "broker/server/router_process.h"

namespace gearstalk {

using link::Kind;

namespace {

// Clients that one round accepts from a listener.
constexpr int kAcceptAtOnce = 16;
// How long a report waits for something else to be sent.
constexpr Time kMoment = 2 * kMillisecond;
constexpr Time kAcceptPause = 100 * kMillisecond;
// The most time in which a client that is to be closed takes nothing.
constexpr Time kLinger = 30 * kSecond;
// Bytes for the broker from which on nothing more is read from clients.
constexpr std::size_t kMostWaiting = 2 * link::kBusyLink;

// The address and the port of a peer, as OPEN has them.
std::string_view AddressOf(const sockaddr_storage& peer, std::uint16_t& port) {
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    port = ntohs(v4.sin_port);
    return {reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr};
  }
  if (peer.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(peer);
    port = ntohs(v6.sin6_port);
    return {reinterpret_cast<const char*>(&v6.sin6_addr), sizeof v6.sin6_addr};
  }
  return {};
}

}  // namespace

Router::Router(EventLoop& loop, SystemClock& clock, link::LinkEnd link, std::vector<int> listeners)
    : loop_(loop),
      clock_(clock),
      sockets_(loop),
      link_(std::move(link)),
      listeners_(std::move(listeners)),
      accepting_(epoll_create1(EPOLL_CLOEXEC)),
      buffer_(link::kMaxData),
      clients_(1) {
  GS_CHECK(accepting_ >= 0);
  acceptable_ = loop_.OnReady<&Router::Accept>(accepting_, EventLoop::Interest::kRead, *this);
  readable_ = loop_.OnReady<&Router::OnLink>(link_.fd(), EventLoop::Interest::kRead, *this);
  EventLoop::Enable(readable_);
  EventLoop::Enable(acceptable_);
}

Router::~Router() {
  clients_.clear();
  acceptable_.reset();
  readable_.reset();
  for (const int fd : listeners_) close(fd);
}

void Router::Run() {
  while (Turn(kNever)) continue;
}

bool Router::Turn(Time until) {
  if (link_.waiting() >= kMostWaiting) {
    WaitForLink();
  } else {
    const bool more = link_.more();
    const bool waits = shaking_.empty() && !more;
    loop_.RunOnce(clock_.Now(), waits ? std::min(until, NextDue()) : 0);
    if (more) OnLink();
  }
  clock_.Refresh();
  EndRound();
  return !over_;
}

// The broker is behind: clients wait, and only the link is looked at.
void Router::WaitForLink() {
  pollfd look{.fd = link_.fd(), .events = POLLIN, .revents = 0};
  if (link_.more() || poll(&look, 1, -1) > 0) OnLink();
}

void Router::EndRound() {
  steps_ = 0;
  Shake();
  CloseOverdue();
  FlushDirty();
  link_.Release();
  if (!link_.may_wait() || link_.waiting() >= link::kBusyLink || send_at_ <= clock_.Now())
    SendNow();
  if (accept_again_ > clock_.Now()) return;
  accept_again_ = kNever;
  EventLoop::Enable(acceptable_);
}

void Router::SendLater(std::uint32_t stream, Kind kind, std::string_view payload) {
  link_.AddLater(stream, kind, payload);
  if (send_at_ == kNever) send_at_ = clock_.Now() + kMoment;
}

void Router::SendNow() {
  send_at_ = kNever;
  if (!link_.Send()) over_ = true;
}

void Router::Shake() {
  for (int i = 0; i < kRoundHandshakes && !shaking_.empty(); ++i) {
    ClientSocket& client = shaking_.front();
    shaking_.pop_front();
    client.Hear();
  }
}

void Router::FlushDirty() {
  while (!dirty_.empty()) {
    ClientSocket& client = dirty_.front();
    dirty_.pop_front();
    if (client.Flush()) continue;
    const std::uint32_t number = client.number();
    Send(number, Kind::kClose, link::EncodeClose(client.undelivered()));
    clients_[number] = nullptr;
    free_.push_back(number);
    --count_;
  }
}

void Router::CloseOverdue() {
  const Time now = clock_.Now();
  const auto timeout = static_cast<Time>(settings_.handshake_timeout);
  while (!handshakes_.empty() && handshakes_.front().waits_since + timeout <= now) {
    ClientSocket& client = handshakes_.front();
    handshakes_.pop_front();
    if (client.handshaking()) client.GiveUp();
  }
  while (!closing_.empty() && closing_.front().waits_since + kLinger <= now) {
    ClientSocket& client = closing_.front();
    closing_.pop_front();
    client.Abandon();
  }
}

Time Router::NextDue() const {
  Time due = std::min(accept_again_, send_at_);
  if (!closing_.empty()) due = std::min(due, closing_.front().waits_since + kLinger);
  if (handshakes_.empty()) return due;
  const auto timeout = static_cast<Time>(settings_.handshake_timeout);
  return std::min(due, handshakes_.front().waits_since + timeout);
}

void Router::NoteDirty(ClientSocket& client) {
  if (!client.dirty_hook.is_linked()) dirty_.push_back(client);
}

void Router::NoteHandshake(ClientSocket& client) {
  if (client.waiting_hook.is_linked()) return;
  client.waits_since = clock_.Now();
  handshakes_.push_back(client);
}

void Router::NoteClosing(ClientSocket& client) {
  client.waiting_hook.unlink();
  client.waits_since = clock_.Now();
  closing_.push_back(client);
}

void Router::ShakeLater(ClientSocket& client) {
  if (!client.shaking_hook.is_linked()) shaking_.push_back(client);
}

void Router::OnLink() {
  if (!link_.Receive()) over_ = true;
  while (!over_) {
    const link::Decoded next = link_.Next();
    if (next.state == link::Decoded::State::kMore) return;
    over_ = next.state == link::Decoded::State::kMalformed || !Handle(next.frame);
  }
}

bool Router::Handle(const link::Frame& frame) {
  if (frame.stream == 0) return HandleOfLink(frame);
  if (frame.stream >= clients_.size() || clients_[frame.stream] == nullptr) return false;
  ClientSocket& client = *clients_[frame.stream];
  if (frame.kind == Kind::kData) return client.OnData(frame.payload);
  if (frame.kind == Kind::kCredit) {
    const auto credit = link::DecodeCredit(frame.payload);
    return credit && client.OnCredit(credit->granted);
  }
  const auto well = frame.kind == Kind::kClose ? link::DecodeClose(frame.payload) : std::nullopt;
  return well && client.OnClose(*well != 0);
}

bool Router::HandleOfLink(const link::Frame& frame) {
  if (frame.kind == Kind::kReload) return Reload(frame.payload);
  if (frame.kind == Kind::kListen && frame.payload.size() == 1) {
    Listen(frame.payload[0] != 0);
    return true;
  }
  const auto asked = frame.kind == Kind::kPing ? link::DecodeCounters(frame.payload) : std::nullopt;
  if (!asked) return false;
  counters_.ping = asked->ping;
  Send(0, Kind::kPing, link::Encode(counters_));
  return true;
}

bool Router::Reload(std::string_view payload) {
  auto settings = link::DecodeSettings(payload);
  if (!settings || settings->tls_uses.size() != listeners_.size()) return false;
  settings_ = std::move(*settings);
  if (!settings_.tls) {
    sockets_.SetTls(nullptr);
    return true;
  }
  TlsFiles files;
  files.client_certificates =
      static_cast<TlsFiles::ClientCertificates>(settings_.client_certificates);
  auto tls = TlsContext::Make(std::move(files), {.certificate = settings_.certificate,
                                                 .key = settings_.key,
                                                 .client_ca = settings_.client_ca});
  if (tls.ok()) sockets_.SetTls(tls.value());
  return tls.ok();
}

// With a socket that several routers share, each connection wakes one of those that wait.
void Router::Listen(bool listens) {
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (!listens) {
      // Others may have the same socket open, so that closing it ends no registration.
      epoll_ctl(accepting_, EPOLL_CTL_DEL, listeners_[i], nullptr);
      close(std::exchange(listeners_[i], -1));
      continue;
    }
    epoll_event event{};
    event.events = EPOLLIN | EPOLLEXCLUSIVE;
    event.data.u64 = i;
    epoll_ctl(accepting_, EPOLL_CTL_ADD, listeners_[i], &event);
  }
}

void Router::Accept() {
  std::array<epoll_event, 16> ready{};
  const int count = epoll_wait(accepting_, ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count && accept_again_ == kNever; ++i) {
    AcceptFrom(ready[static_cast<std::size_t>(i)].data.u64);
  }
}

void Router::AcceptFrom(std::size_t listener) {
  for (int accepted = 0; accepted < kAcceptAtOnce; ++accepted) {
    if (count_ >= settings_.connections) return PauseAccepting(EMFILE);
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int fd = accept4(listeners_[listener], reinterpret_cast<sockaddr*>(&peer), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      std::uint16_t port = 0;
      const std::string_view address = AddressOf(peer, port);
      Welcome(listener, fd, address, port);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return PauseAccepting(errno);
    }
    // The broker has stopped listening: LISTEN begins again.
    if (errno == EINVAL) epoll_ctl(accepting_, EPOLL_CTL_DEL, listeners_[listener], nullptr);
    return;
  }
}

// A new client usually has sent its first command already.
void Router::Welcome(std::size_t listener, int fd, std::string_view address, std::uint16_t port) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(clients_.size()));
    clients_.emplace_back();
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  ++count_;
  ++counters_.accepted;
  const link::Open open{.listener = static_cast<std::uint16_t>(listener),
                        .port = port,
                        .address = std::string(address)};
  Send(number, Kind::kOpen, link::Encode(open));
  const auto tls = static_cast<TlsUse>(settings_.tls_uses[listener]);
  clients_[number] = std::make_unique<ClientSocket>(*this, number, fd, tls);
  clients_[number]->Hear();
}

// New clients wait in the backlog meanwhile.
void Router::PauseAccepting(int error) {
  accept_again_ = clock_.Now() + kAcceptPause;
  EventLoop::Disable(acceptable_);
  Send(0, Kind::kReset,
       link::Encode(
           link::Reset{.trouble = link::Trouble::kDescriptors, .reason = std::strerror(error)}));
}

int RunAsRouter(int argc, char** argv) {
  const auto number = [&](int at) {
    std::size_t parsed = 0;
    return argc > at && ParseNumber(argv[at], parsed) ? parsed : 0;
  };
  const std::string name = "gearstalkd-r" + std::to_string(number(2));
  prctl(PR_SET_NAME, name.c_str());
  // The broker's signals are the broker's business.
  for (const int ignored : {SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGALRM}) {
    signal(ignored, SIG_IGN);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::vector<int> listeners(number(3));
  std::iota(listeners.begin(), listeners.end(), kRouterListeners);
  auto link = link::LinkEnd::Open(kRouterSocket, kRouterMemory, link::LinkEnd::Side::kRouter);
  if (!link.ok()) _exit(EXIT_FAILURE);
  close(kRouterMemory);
  EventLoop loop;
  SystemClock clock;
  Router router(loop, clock, std::move(link.value()), std::move(listeners));
  router.Run();
  // The kernel closes the clients' sockets.
  _exit(EXIT_SUCCESS);
}

}  // namespace gearstalk
