#include "tests/server/routed_broker.h"

#include <algorithm>
#include <utility>

#include "broker/engine/consumer.h"
#include "tests/support/identity.h"

namespace gearstalk {
namespace {

constexpr int kFirstFd = 10;

gearman::Options GearmanOptions() {
  gearman::Options options;
  options.server_name = "test";
  options.version = "1.2.3";
  return options;
}

Peer PeerOf(int fd) {
  return {.fd = fd, .address = "127.0.0.1", .local = true, .id = static_cast<std::uint64_t>(fd)};
}

// A protocol switch in the place of a session.
class RoutedSession final : public Session {
 public:
  RoutedSession(std::span<Protocol* const> protocols, Wire& wire) : chooser(protocols, wire) {}

  InputResult OnInput(std::string_view bytes, Scope /*scope*/) override {
    return chooser.OnInput(bytes);
  }
  std::span<char> BodySpace() override { return chooser.BodySpace(); }
  void OnBody(std::size_t size) override { chooser.OnBody(size); }
  void OnEof() override { chooser.OnEof(); }

  ProtocolSwitch chooser;
};

// A session that strikes itself off a list when it ends.
class CountedSession final : public Session {
 public:
  CountedSession(std::vector<const Session*>& sessions, std::unique_ptr<Session> session)
      : sessions_(sessions), session_(std::move(session)) {
    sessions_.push_back(session_.get());
  }
  ~CountedSession() override { std::erase(sessions_, session_.get()); }

  InputResult OnInput(std::string_view bytes, Scope scope) override {
    return session_->OnInput(bytes, scope);
  }
  std::span<char> BodySpace() override { return session_->BodySpace(); }
  void OnBody(std::size_t size) override { session_->OnBody(size); }
  void OnEof() override { session_->OnEof(); }
  bool Leave() override { return session_->Leave(); }
  std::string_view ClientId() const override { return session_->ClientId(); }
  std::size_t AppendQueues(std::string& out, std::size_t from, std::size_t most) const override {
    return session_->AppendQueues(out, from, most);
  }

 private:
  std::vector<const Session*>& sessions_;
  std::unique_ptr<Session> session_;
};

}  // namespace

class RoutedBroker::Counted final : public Protocol {
 public:
  Counted(std::vector<const Session*>& sessions, Protocol& protocol)
      : sessions_(sessions), protocol_(protocol) {}
  std::string_view name() const override { return protocol_.name(); }
  Claim Sniff(std::string_view bytes) const override { return protocol_.Sniff(bytes); }
  Claim SniffUnknown(std::string_view bytes) const override {
    return protocol_.SniffUnknown(bytes);
  }
  std::unique_ptr<Session> NewSession(Wire& wire) override {
    return std::make_unique<CountedSession>(sessions_, protocol_.NewSession(wire));
  }

 private:
  std::vector<const Session*>& sessions_;
  Protocol& protocol_;
};

RoutedClient::RoutedClient(RoutedBroker& broker, int fd) : Socketless(broker.clock, PeerOf(fd)) {
  auto session = std::make_unique<RoutedSession>(broker.counted_, *this);
  switch_ = &session->chooser;
  set_session(std::move(session));
}

void RoutedClient::Send(std::string_view bytes, std::size_t piece) {
  do {
    const std::string_view part = bytes.substr(0, piece == 0 ? bytes.size() : piece);
    bytes.remove_prefix(part.size());
    Receive(part);
  } while (!bytes.empty());
  Settle();
}

void RoutedClient::HalfClose() {
  ReceiveEof();
  Settle();
}

// Its session leaves the engine at once.
void RoutedClient::Settle() {
  if (closed()) Disconnect();
}

void RoutedClient::Disconnect() {
  heard_ += out().TakeAll();
  DropSession();
}

std::string RoutedClient::Hear() {
  heard_ += out().TakeAll();
  return std::exchange(heard_, {});
}

RoutedBroker::RoutedBroker()
    : beanstalk({}, beanstalk::TestIdentity(clock.Now()), engine, *this),
      gearman(GearmanOptions(), engine, *this),
      protocols{&beanstalk, &gearman},
      counted_beanstalk_(std::make_unique<Counted>(sessions_, beanstalk)),
      counted_gearman_(std::make_unique<Counted>(sessions_, gearman)),
      counted_{counted_beanstalk_.get(), counted_gearman_.get()} {
  for (std::size_t i = 0; i < kClients; ++i) Reconnect(i);
}

RoutedBroker::~RoutedBroker() {
  for (auto& client : clients_) client.reset();
}

void RoutedBroker::Reconnect(std::size_t index) {
  clients_[index] = std::make_unique<RoutedClient>(*this, kFirstFd + static_cast<int>(index));
  ++total_;
}

void RoutedBroker::Settle() {
  for (std::size_t i = 0; i < kClients;) {
    RoutedClient& client = *clients_[i++];
    if (client.closed() || !client.resumed()) continue;
    client.Run();
    client.Settle();
    i = 0;
  }
}

void RoutedBroker::Pass(Time by) {
  SocketlessBroker::Pass(by);
  Settle();
}

std::string RoutedBroker::CheckInvariants() const {
  std::vector<const Consumer*> consumers;
  for (const Session* session : sessions_) {
    consumers.push_back(dynamic_cast<const Consumer*>(session));
  }
  return engine.CheckInvariants(consumers);
}

ConnectionList::Entry RoutedBroker::Next(int fd) const {
  for (const auto& client : clients_) {
    const bool open = client != nullptr && !client->closed();
    if (open && client->peer().fd >= fd)
      return {.peer = &client->peer(), .session = client->Describing()};
  }
  return {};
}

std::size_t RoutedBroker::Count() const {
  return static_cast<std::size_t>(
      std::count_if(clients_.begin(), clients_.end(),
                    [](const auto& client) { return client != nullptr && !client->closed(); }));
}

}  // namespace gearstalk
