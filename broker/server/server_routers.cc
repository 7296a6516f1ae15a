// Clients whose sockets routers hold.

#include <algorithm>

#include "broker/server/server.h"

namespace gearstalk {
void Server::UseRouters(std::size_t count) {
  routers_ = std::make_unique<Routers>(loop_, static_cast<LinkHost&>(*this), count);
  routers_->SetHandshakeTimeout(limits_.handshake_timeout);
  routers_->SetTls(tls());
  connections_.resize(1);
  by_routers_ = true;
}

Status Server::StartRouters() {
  if (routers_ == nullptr) return {};
  std::vector<const ListenSocket*> listeners;
  for (const auto& acceptor : acceptors_) listeners.push_back(acceptor->socket.get());
  return routers_->Start(std::move(listeners), Now());
}

// A place that is small and free, as a descriptor would be.
int Server::TakePlace() {
  if (free_places_.empty()) return static_cast<int>(connections_.size());
  const int place = free_places_.back();
  free_places_.pop_back();
  return place;
}

void Server::OnOpen(RouterLink& link, std::uint32_t stream, const link::Open& open) {
  // While the server stops, its listeners are closed, and a router may not know yet.
  if (open.listener >= acceptors_.size() || acceptors_[open.listener]->socket == nullptr) return;
  const int place = TakePlace();
  Connection* const connection =
      Welcome(*acceptors_[open.listener], Peer::Of(place, open.address, open.port));
  if (connection != nullptr) {
    connection->Attach(
        std::make_unique<Stream>(routers_->due(), link, stream, connection->events()));
  } else if (static_cast<std::size_t>(place) < connections_.size()) {
    free_places_.push_back(place);
  }
}

// While frozen, clients wait, unless they are to be turned away.
void Server::PauseRouters() {
  routers_->Pause(frozen_ && std::any_of(acceptors_.begin(), acceptors_.end(), [](const auto& one) {
                    return one->state == Acceptor::State::kOpen;
                  }));
}

bool Server::MayWelcome() {
  if (welcome_began_ < round_began_) welcome_began_ = hooks_.Fresh();
  backlog_ = backlog_ || hooks_.Fresh() - welcome_began_ >= kAcceptTime;
  return !backlog_;
}

}  // namespace gearstalk
