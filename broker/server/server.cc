#include "broker/server/server.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "broker/base/log.h"
#include "broker/server/peer.h"

namespace gearstalk {
namespace {

// Connections accepted before others get their turn.
constexpr int kAcceptBatch = 64;
// Accepting pauses this long when descriptors have run out.
constexpr Time kAcceptPause = 100 * kMillisecond;
// Descriptors that connections leave to the journal, the pages for operators and the logs.
constexpr std::size_t kSpareDescriptors = 64;

std::size_t DescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return std::max<std::size_t>(limit.rlim_cur, 2 * kSpareDescriptors);
}

void LogConnection(std::string_view event, const Peer& peer) {
  if (!Logs(LogLevel::kDebug)) return;
  LogOfClient(LogLevel::kDebug, event, {{"client", peer.address}, {"connection", peer.id}});
}

}  // namespace

Server::Server(EventLoop& loop, SystemClock& clock, Work& work)
    : loop_(loop),
      clock_(clock),
      work_(work),
      read_buffer_(Connection::kMaxInput + 2 * kReadSize),
      room_(DescriptorLimit() - kSpareDescriptors) {}

Server::~Server() = default;

Result<std::string> Server::Listen(const ListenAddress& address, std::vector<Protocol*> protocols) {
  auto socket = ListenSocket::Open(address);
  if (!socket.ok()) return socket.status();
  return Listen(std::move(socket.value()), std::move(protocols));
}

Result<std::string> Server::Listen(std::unique_ptr<ListenSocket> socket,
                                   std::vector<Protocol*> protocols) {
  if (socket->address().tls == ListenAddress::Tls::kRequired && tls_ == nullptr) {
    return Status(Code::kInvalid, "listen address '" + socket->address().text +
                                      "': tls=required needs tls.certificate");
  }
  if (Status status = socket->Start(); !status.ok()) return status;
  ListenAddress address = socket->address();
  auto gate = std::make_unique<Gate>(
      Gate{*this, std::move(socket), std::move(address), std::move(protocols), nullptr});
  gate->readable = loop_.OnReady(
      gate->socket->fd(), EventLoop::Interest::kRead,
      [](int, short, void* context) {
        auto& self = *static_cast<Gate*>(context);
        self.server.BeginRound();
        self.server.Accept(self);
      },
      gate.get());
  EventLoop::Enable(gate->readable);
  gates_.push_back(std::move(gate));
  return gates_.back()->socket->name();
}

void Server::SetLimits(const ServerLimits& limits) {
  const bool another_timeout = limits.idle_timeout != limits_.idle_timeout;
  limits_ = limits;
  if (!another_timeout) return;
  look_for_idle_ = kNever;
  idle_.Start(Now(), limits_.idle_timeout);
  if (limits_.idle_timeout == 0) return;
  look_for_idle_ = idle_.NextLook();
  for (const auto& connection : connections_) {
    if (connection != nullptr) idle_.Put(*connection, Now() + limits_.idle_timeout);
  }
}

void Server::SetTls(std::shared_ptr<const TlsContext> tls) {
  tls_ = std::move(tls);
  tls_buffer_.resize(kReadSize);
}

void Server::SetAccess(AccessRules rules) {
  access_ = std::move(rules);
  for (const auto& connection : connections_) {
    if (connection == nullptr) continue;
    const Peer& peer = connection->peer();
    connection->set_access(access_.For(peer.listen, peer.certificate));
  }
}

void Server::OnSecured(Connection& connection) {
  connection.set_certificate(connection.tls()->ClientName());
  const Peer& peer = connection.peer();
  connection.set_access(access_.For(peer.listen, peer.certificate));
}

void Server::Refuse(Refusal refusal, const Peer& peer, std::string_view error) {
  refusals_.Count(refusal);
  LogOfClient(LogLevel::kWarning, "refused",
              {{"reason", kRefusalNames[static_cast<std::size_t>(refusal)]},
               {"error", error.empty() ? "-" : error},
               {"client", peer.address},
               {"connection", peer.id}});
}

void Server::Accept(Gate& gate) {
  for (int i = 0; i < kAcceptBatch; ++i) {
    if (Count() >= room_) return PauseAccepting(EMFILE);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = accept4(gate.socket->fd(), reinterpret_cast<sockaddr*>(&address), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) PauseAccepting(errno);
      return;
    }
    Peer peer = DescribePeer(fd, address);
    peer.id = ++total_;
    Welcome(gate, std::move(peer));
    if (!gate.socket->SomebodyWaits()) return;
  }
}

void Server::Welcome(Gate& gate, Peer peer) {
  if (const auto refusal = admission_.Enter(limits_, peer.network)) {
    Refuse(*refusal, peer);
    close(peer.fd);
    return;
  }
  peer.listen = gate.address.text;
  peer.access = access_.For(peer.listen, {});
  const auto place = static_cast<std::size_t>(peer.fd);
  if (connections_.size() <= place) connections_.resize(place + 1);
  connections_[place] = std::make_unique<Connection>(*this, std::move(peer), gate.protocols);
  Connection& connection = *connections_[place];
  LogConnection("connected", connection.peer());
  if (limits_.idle_timeout > 0) idle_.Put(connection, Now() + limits_.idle_timeout);
  const ListenAddress::Tls tls = gate.address.tls;
  const bool required = tls == ListenAddress::Tls::kRequired;
  if (required || (tls_ != nullptr && tls == ListenAddress::Tls::kAllowed)) {
    connection.ExpectTls(required);
  }
  // A client that connects usually has something to say, and it is here already.
  connection.OnReadable();
}

// Whoever comes waits in the backlog meanwhile.
void Server::PauseAccepting(int error) {
  if (accept_again_ != kNever) return;
  refusals_.Count(Refusal::kDescriptors);
  LogOfClient(LogLevel::kWarning, "accepting paused",
              {{"error", std::strerror(error)}, {"connections", Count()}});
  for (const auto& gate : gates_) EventLoop::Disable(gate->readable);
  accept_again_ = Now() + kAcceptPause;
}

void Server::GoOnAccepting() {
  accept_again_ = kNever;
  for (const auto& gate : gates_) EventLoop::Enable(gate->readable);
}

void Server::BeginRound() {
  if (in_round_) return;
  in_round_ = true;
  clock_.Refresh();
}

void Server::Run() {
  while (!stopping_) Turn(kNever);
  SendRest();
}

void Server::Turn(Time until) {
  const bool busy = !run_.empty() || !leaving_.empty() || !dirty_.empty();
  until = std::min({until, busy ? Time{0} : kNever, next_tick_, accept_again_, look_for_idle_});
  if (!undecided_.empty()) {
    until = std::min(until, undecided_.front().undecided_since + limits_.handshake_timeout);
  }
  loop_.RunOnce(Now(), until);
  BeginRound();
  EndRound();
  in_round_ = false;
}

void Server::EndRound() {
  RunQueued();
  if (!leaving_.empty()) CloseLeaving();
  next_tick_ = work_.Tick(Now());
  if (!undecided_.empty()) CloseUndecided();
  if (look_for_idle_ <= Now()) CloseIdle();
  work_.EndRound(Now());
  FlushDirty();
  if (abandon_ != Abandon::kNone) CloseHeld();
  if (accept_again_ <= Now()) GoOnAccepting();
}

// Runs each connection that was waiting to be run once; what they leave comes in the next round.
void Server::RunQueued() {
  List<&Connection::run_hook> turn;
  turn.swap(run_);
  while (!turn.empty()) {
    Connection& connection = turn.front();
    turn.pop_front();
    connection.Run();
  }
}

void Server::FlushDirty() {
  bool closed = false;
  const std::uint64_t enough = sent_ + kRoundSent;
  for (std::size_t n = 0; n < kRoundFlushes && sent_ < enough && !dirty_.empty(); ++n) {
    Connection& connection = dirty_.front();
    dirty_.pop_front();
    if (!connection.Flush()) {
      Close(connection);
      closed = true;
    }
  }
  // What they held went back, and that may have to be recorded.
  if (closed) work_.EndRound(Now());
}

void Server::NoteUndecided(Connection& connection) {
  if (connection.undecided_hook.is_linked()) return;
  connection.undecided_since = Now();
  undecided_.push_back(connection);
}

void Server::CloseUndecided() {
  while (!undecided_.empty()) {
    Connection& first = undecided_.front();
    if (first.undecided() && first.undecided_since + limits_.handshake_timeout > Now()) return;
    undecided_.pop_front();
    if (!first.undecided()) continue;
    Refuse(Refusal::kHandshakeTimeout, first.peer());
    first.CloseWhenSent();
  }
}

void Server::CloseIdle() {
  while (Connection* connection = idle_.Pop(Now())) {
    const Time over = connection->active_at() + limits_.idle_timeout;
    if (over > Now()) {
      idle_.Put(*connection, over);
    } else if (!connection->Idle()) {
      idle_.Put(*connection, Now() + limits_.idle_timeout);
    } else {
      Refuse(Refusal::kIdleTimeout, connection->peer());
      connection->Break();
    }
  }
  look_for_idle_ = idle_.NextLook();
}

void Server::Close(Connection& connection) {
  if (!connection.Leave()) {
    Link(leaving_, connection, connection.leave_hook);
    return;
  }
  // It stays in its place until its session has left the engine and the descriptor is closed.
  std::unique_ptr<Connection> last =
      std::move(connections_[static_cast<std::size_t>(connection.peer().fd)]);
  admission_.Leave(connection.peer().network);
  LogConnection("disconnected", connection.peer());
}

// One more step of each.
void Server::CloseLeaving() {
  List<&Connection::leave_hook> turn;
  turn.swap(leaving_);
  while (!turn.empty()) {
    Connection& connection = turn.front();
    turn.pop_front();
    Close(connection);
  }
}

void Server::Watch(int fd, std::function<void()>& handler) {
  auto watched = std::make_unique<Watched>(Watched{*this, handler, nullptr});
  watched->readable = loop_.OnReady(
      fd, EventLoop::Interest::kRead,
      [](int, short, void* context) {
        auto& self = *static_cast<Watched*>(context);
        self.server.BeginRound();
        self.handler();
      },
      watched.get());
  EventLoop::Enable(watched->readable);
  watched_.push_back(std::move(watched));
}

void Server::OnDurable() {
  while (!held_.empty()) {
    Connection& connection = held_.front();
    held_.pop_front();
    NoteDirty(connection);
  }
}

void Server::AbandonHeld(bool for_good) {
  if (abandon_ != Abandon::kAlways) abandon_ = for_good ? Abandon::kAlways : Abandon::kOnce;
}

// What they held may be given to others, who then wait for as long as it takes.
void Server::CloseHeld() {
  // Who has not had its turn to be sent to may wait for the journal as well.
  if (abandon_ == Abandon::kOnce && dirty_.empty()) abandon_ = Abandon::kNone;
  if (held_.empty()) return;
  List<&Connection::held_hook> lost;
  lost.swap(held_);
  while (!lost.empty()) {
    Connection& connection = lost.front();
    lost.pop_front();
    Close(connection);
  }
  work_.EndRound(Now());
  FlushDirty();
}

void Server::SendRest() {
  for (const auto& gate : gates_) {
    gate->readable.reset();
    gate->socket.reset();
  }
  clock_.Refresh();
  const Time limit = Now() + limits_.stop_timeout;
  const auto waiting = [this] {
    for (const auto& connection : connections_) {
      if (connection != nullptr && connection->sending()) return true;
    }
    return false;
  };
  work_.EndRound(Now());
  FlushDirty();
  while (waiting() && !hurry_ && Now() < limit) {
    loop_.RunOnce(Now(), dirty_.empty() ? Now() + 10 * kMillisecond : Now());
    clock_.Refresh();
    work_.EndRound(Now());
    FlushDirty();
  }
  connections_.clear();
  admission_ = {};
}

ConnectionList::Entry Server::Next(int fd) const {
  for (auto place = static_cast<std::size_t>(fd); place < connections_.size(); ++place) {
    const Connection* connection = connections_[place].get();
    if (connection != nullptr) return {&connection->peer(), connection->session()};
  }
  return {};
}

}  // namespace gearstalk
