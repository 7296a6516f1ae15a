#pragma once

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/check.h"
#include "broker/router/router.h"
#include "broker/server/listener.h"
#include "broker/server/router_link.h"
#include "tests/link/link_ends.h"
#include "tests/support/listening.h"

namespace gearstalk {

// What a connection would be: reads a stream, and writes to it.
class StreamOwner final : public TransportEvents {
 public:
  StreamOwner(DueStreams& due, RouterLink& link, std::uint32_t number)
      : stream_(std::make_unique<Stream>(due, link, number, *this)) {
    stream_->SetReading(Transport::Reading::kOn);
  }

  void OnReadable() override {
    const std::span<char> body =
        body_flows ? std::span<char>(body_).first(link::kWindow) : std::span<char>();
    const Transport::Received got = stream_->Read(body, buffer_, most);
    heard.append(body_.data(), got.body);
    heard.append(buffer_.data(), got.rest);
    if (got.then == Transport::Received::Then::kOpen) return;
    then = got.then;
    stream_->SetReading(Transport::Reading::kOff);
  }
  void OnHangUp() override { ++hang_ups; }
  void OnWritable() override {
    ++writables;
    Write();
  }
  void OnSecured(std::string name) override { certificate = std::move(name); }

  // Writes as much as the stream takes now, and the rest later.
  void Say(std::string_view bytes) {
    unsaid += bytes;
    Write();
  }
  Stream& stream() { return *stream_; }
  bool ended() const { return stream_ == nullptr; }
  void End(bool well) {
    if (well) stream_->End();
    stream_.reset();
  }

  std::string heard, unsaid, certificate;
  std::size_t most = 64 * 1024;  // read at once
  Transport::Received::Then then = Transport::Received::Then::kOpen;
  int hang_ups = 0;
  int writables = 0;
  bool body_flows = false;
  bool broken = false;  // writing failed

 private:
  void Write() {
    while (!unsaid.empty() && !broken) {
      iovec piece{unsaid.data(), unsaid.size()};
      const ssize_t taken = stream_->Write(&piece, 1);
      broken = taken < 0 && errno != EAGAIN;
      if (taken < 0) break;
      unsaid.erase(0, static_cast<std::size_t>(taken));
    }
    stream_->WatchWriting(!unsaid.empty() && !broken);
  }

  std::vector<char> body_ = std::vector<char>(link::kWindow);
  std::vector<char> buffer_ = std::vector<char>(128 * 1024);
  std::unique_ptr<Stream> stream_;
};

// A router and the broker's end of its link in one thread, turned by the test.
class LinkRig final : private LinkHost {
 public:
  LinkRig() {
    auto [broker, other] = link::MakeEnds();
    auto socket = OpenOne(ListenAddress::Parse("unix:" + path).value());
    GS_CHECK(socket.ok() && socket.value()->Start().ok());
    socket_ = std::move(socket.value());
    link = std::make_unique<RouterLink>(loop_, std::move(broker), static_cast<LinkHost&>(*this));
    router = std::make_unique<Router>(router_loop_, clock_, std::move(other),
                                      std::vector<int>{dup(socket_->fd())});
    link->Send(OfOneListener());
    link->Listen(true);
    Turn();
  }
  // Settings of a router with one listener, without TLS.
  static link::Settings OfOneListener() {
    link::Settings settings;
    settings.handshake_timeout = 1'000'000'000'000;
    settings.connections = 10'000;
    settings.tls_uses = std::string(1, static_cast<char>(TlsUse::kOff));
    return settings;
  }
  // Owners end before what they stand on.
  ~LinkRig() { owners.clear(); }

  void Turn() {
    link->Flush();
    if (router != nullptr) router->Turn(0);
    loop_.RunOnce(0, 0);
    link->Flush();
  }
  // The router stands still.
  void TurnLink() {
    link->Flush();
    loop_.RunOnce(0, 0);
  }
  // Without a link.
  void TurnBroker() { loop_.RunOnce(0, 0); }
  // Until nothing happens any more.
  void Settle() {
    for (int i = 0; i < 200; ++i) TurnAtOnce();
  }
  // A round in which the router keeps nothing for later.
  void TurnAtOnce() {
    if (router != nullptr) router->SendNow();
    Turn();
  }
  template <typename Done>
  bool Until(Done done) {
    for (int i = 0; i < 100'000; ++i) {
      if (done()) return true;
      Turn();
    }
    return false;
  }

  const std::string path = "/tmp/gs-rig-" + std::to_string(getpid());
  bool welcomes = true;

 private:
  void BeginRound() override {}
  void OnOpen(RouterLink& of, std::uint32_t number, const link::Open& /*open*/) override {
    if (welcomes) owners.push_back(std::make_unique<StreamOwner>(due_, of, number));
  }
  bool MayWelcome() override { return true; }
  void OnNoDescriptors(std::string_view /*error*/) override {}

  EventLoop loop_, router_loop_;
  SystemClock clock_;
  DueStreams due_{loop_, [] {}};
  std::unique_ptr<ListenSocket> socket_;

 public:
  std::unique_ptr<RouterLink> link;
  std::unique_ptr<Router> router;
  std::vector<std::unique_ptr<StreamOwner>> owners;  // in the order in which clients came
};

}  // namespace gearstalk
