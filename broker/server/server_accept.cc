// Listening, and the first moments of a connection.

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "broker/base/log.h"
#include "broker/base/status.h"
#include "broker/server/server.h"

namespace gearstalk {
namespace {

// The number of accepted connections that one round reads from at once.
constexpr int kHeardAtOnce = 16;
// Accepting pauses this long when descriptors have run out.
constexpr Time kAcceptPause = 100 * kMillisecond;

}  // namespace

Result<std::string> Server::Listen(std::unique_ptr<ListenSocket> socket,
                                   std::vector<Protocol*> protocols) {
  if (socket->address().tls == TlsUse::kRequired && tls() == nullptr) {
    return Status(Code::kInvalid, "listen address '" + socket->address().text +
                                      "': tls=required needs tls.certificate");
  }
  GS_TRY(socket->Start());
  ListenAddress address = socket->address();
  auto acceptor = std::make_unique<Acceptor>(
      Acceptor{*this, std::move(socket), std::move(address), std::move(protocols), nullptr});
  if (routers_ == nullptr) {
    acceptor->readable = loop_.OnReady<&Acceptor::OnReadable>(
        acceptor->socket->fd(), EventLoop::Interest::kRead, *acceptor);
    EventLoop::Enable(acceptor->readable);
  }
  acceptors_.push_back(std::move(acceptor));
  return acceptors_.back()->socket->name();
}

void Server::StopListening() {
  for (const auto& acceptor : acceptors_) {
    acceptor->state =
        acceptor->socket->Stop() ? Acceptor::State::kClosed : Acceptor::State::kTurnsAway;
  }
  UpdateAccepting();
}

Status Server::ListenAgain() {
  for (const auto& acceptor : acceptors_) {
    GS_TRY(acceptor->socket->Start());
    acceptor->state = Acceptor::State::kOpen;
  }
  if (routers_ != nullptr) routers_->ListenAgain();
  UpdateAccepting();
  return {};
}

// A new client usually has sent its first command already, so it is read from at once. With many in
// the backlog, the rest are accepted first and read from when the loop reports them.
void Server::Accept(Acceptor& acceptor) {
  const Time began = hooks_.Fresh();
  for (int accepted = 1;; ++accepted) {
    if (Count() >= room_) return PauseAccepting(EMFILE);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = accept4(acceptor.socket->fd(), reinterpret_cast<sockaddr*>(&address), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) PauseAccepting(errno);
      return;
    }
    Connection* const connection = Welcome(acceptor, Peer::Of(fd, address));
    if (connection == nullptr) {
      close(fd);
    } else {
      connection->Attach(std::make_unique<SocketTransport>(sockets_, fd, acceptor.address.tls,
                                                           connection->events()));
      if (accepted <= kHeardAtOnce) connection->Hear();
    }
    if (!acceptor.socket->SomebodyWaits()) return;
    if (hooks_.Fresh() - began < kAcceptTime) continue;
    backlog_ = true;
    return;
  }
}

// Returns nullptr if it is refused.
Connection* Server::Welcome(Acceptor& acceptor, Peer peer) {
  if (acceptor.state != Acceptor::State::kOpen) return nullptr;
  peer.id = ++total_;
  peer.connected_at = Now();
  if (const auto refusal = admission_.Enter(limits_, peer.network)) {
    Refuse(*refusal, peer);
    return nullptr;
  }
  peer.listen = acceptor.address.text;
  peer.bound = acceptor.socket->name();
  peer.access = access_.For(peer.listen, {});
  const auto place = static_cast<std::size_t>(peer.fd);
  if (connections_.size() <= place) connections_.resize(place + 1);
  connections_[place] = std::make_unique<Connection>(*this, std::move(peer), acceptor.protocols);
  Connection& connection = *connections_[place];
  if (Logs(LogLevel::kDebug)) {
    LogOfClient(LogLevel::kDebug, "connected",
                {{"client", connection.peer().Name()}, {"connection", connection.peer().id}});
  }
  if (limits_.idle_timeout > 0) idle_.Put(connection, Now() + limits_.idle_timeout);
  return &connection;
}

// New clients wait in the backlog meanwhile.
void Server::PauseAccepting(int error) {
  if (accept_again_ != kNever) return;
  OnNoDescriptors(std::strerror(error));
  accept_again_ = Now() + kAcceptPause;
  UpdateAccepting();
}

void Server::OnNoDescriptors(std::string_view error) {
  refusals_.Count(Refusal::kDescriptors);
  LogOfClient(LogLevel::kWarning, "accepting paused", {{"error", error}, {"connections", Count()}});
}

void Server::UpdateAccepting() {
  if (routers_ != nullptr) return PauseRouters();
  const bool open = !frozen_ && accept_again_ == kNever;
  for (const auto& acceptor : acceptors_) {
    const bool wanted = acceptor->state == Acceptor::State::kOpen
                            ? open
                            : acceptor->state == Acceptor::State::kTurnsAway;
    wanted ? EventLoop::Enable(acceptor->readable) : EventLoop::Disable(acceptor->readable);
  }
}

}  // namespace gearstalk
