// Closes connections: overdue ones, abandoned ones, and those that ask for it.

#include "broker/base/log.h"
#include "broker/server/server.h"

namespace gearstalk {

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
  for (std::size_t looks = 0; looks < kRoundIdle; ++looks) {
    Connection* const connection = idle_.Pop(Now());
    if (connection == nullptr) break;
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

void Server::CloseAll() {
  for (const auto& connection : connections_) {
    if (connection == nullptr) continue;
    connection->Break();
    NoteLeaving(*connection);
  }
}

bool Server::Disconnect(int fd, std::uint64_t id) {
  const auto place = static_cast<std::size_t>(fd);
  if (fd < 0 || place >= connections_.size()) return false;
  Connection* const connection = connections_[place].get();
  if (connection == nullptr || connection->peer().id != id || connection->broken()) return false;
  connection->Break();
  return true;
}

void Server::Close(Connection& connection) {
  if (!connection.Leave()) {
    Link(leaving_, connection, connection.leave_hook);
    return;
  }
  if (connection.run_hook.is_linked()) {
    connection.run_hook.unlink();
    --queued_;
  }
  // It stays in its place until its session has left the engine and the descriptor is closed.
  std::unique_ptr<Connection> last =
      std::move(connections_[static_cast<std::size_t>(connection.peer().fd)]);
  if (routers_ != nullptr) free_places_.push_back(connection.peer().fd);
  admission_.Leave(connection.peer().network);
  if (!Logs(LogLevel::kDebug)) return;
  LogOfClient(LogLevel::kDebug, "disconnected",
              {{"client", connection.peer().Name()}, {"connection", connection.peer().id}});
}

// Takes one more step of each leaving connection, for up to kRoundFlushes of them a round.
void Server::CloseLeaving() {
  List<&Connection::leave_hook> turn;
  turn.swap(leaving_);
  const Time began = hooks_.Fresh();
  for (std::size_t n = 0; n < kRoundFlushes && !turn.empty(); ++n) {
    if (n > 0 && hooks_.Fresh() - began >= kRunTime) break;
    Connection& connection = turn.front();
    turn.pop_front();
    if (connection.broken()) {
      Close(connection);
    } else if (!connection.LeaveEngine()) {
      NoteLeaving(connection);
    }
  }
  leaving_.splice(leaving_.begin(), turn);
}

void Server::AbandonHeld(bool for_good) {
  if (abandon_ != Abandon::kAlways) abandon_ = for_good ? Abandon::kAlways : Abandon::kOnce;
}

// Jobs that these connections held may go to others, whose replies then wait for the journal again.
void Server::CloseHeld() {
  // Connections that have not been flushed yet may hold replies for the journal as well.
  if (abandon_ == Abandon::kOnce && dirty_.empty()) abandon_ = Abandon::kNone;
  if (held_.empty()) return;
  List<&Connection::held_hook> lost;
  lost.swap(held_);
  while (!lost.empty()) {
    Connection& connection = lost.front();
    lost.pop_front();
    Close(connection);
  }
  hooks_.EndRound(Now());
  FlushDirty();
}

void Server::DropAll() {
  connections_.clear();
  free_places_.clear();
  admission_ = {};
}

void Server::SendRest() {
  for (const auto& acceptor : acceptors_) {
    acceptor->readable.reset();
    acceptor->socket.reset();
  }
  if (routers_ != nullptr) routers_->StopListening();
  hooks_.BeginRound();
  const Time limit = Now() + limits_.stop_timeout;
  const auto waiting = [this] {
    for (const auto& connection : connections_) {
      if (connection != nullptr && connection->sending()) return true;
    }
    return false;
  };
  hooks_.EndRound(Now());
  SendRound();
  while (waiting() && !hurry_ && Now() < limit) {
    loop_.RunOnce(Now(), dirty_.empty() ? Now() + 10 * kMillisecond : Now());
    hooks_.BeginRound();
    CloseLeaving();
    hooks_.EndRound(Now());
    SendRound();
  }
  DropAll();
  if (routers_ != nullptr && !hurry_) routers_->WaitForEnds(std::max(limit - Now(), kMillisecond));
}

void Server::SendRound() {
  FlushDirty();
  if (routers_ != nullptr) routers_->EndRound(Now());
}

}  // namespace gearstalk
