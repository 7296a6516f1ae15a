#include "admin/http/server.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "admin/http/connection.h"
#include "broker/base/check.h"
#include "broker/base/threads.h"

namespace gearstalk {
namespace {

constexpr timeval kAcceptPause = {0, 100'000};  // when descriptors have run out
constexpr timeval kNextTurn = {0, 0};
constexpr std::size_t kAcceptedAtOnce = 8;  // in a turn of the loop
constexpr int kBacklog = 1024;

HttpPeer DescribePeer(const sockaddr* address, bool unix) {
  if (unix) return {.address = "unix", .local = true, .unix = true};
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(*address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {.address = text, .local = ntohl(v4.sin_addr.s_addr) >> 24 == 127};
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(*address).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    inet_ntop(AF_INET, &v6.s6_addr[12], text, sizeof text);
    return {.address = text, .local = v6.s6_addr[12] == 127};
  }
  inet_ntop(AF_INET6, &v6, text, sizeof text);
  return {.address = text, .local = IN6_IS_ADDR_LOOPBACK(&v6) != 0};
}

}  // namespace

struct HttpServer::Listener {
  HttpServer& server;
  bool unix;
  evconnlistener* events = nullptr;
  bool enabled = true;

  ~Listener() {
    if (events != nullptr) evconnlistener_free(events);
  }
};

HttpServer::HttpServer(event_base* base, HttpSite& site, HttpHooks hooks, SliceQueue& slices,
                       HttpLimits limits)
    : base_(base),
      site_(site),
      hooks_(std::move(hooks)),
      limits_(limits),
      slices_(slices),
      again_(event_new(
          base, -1, 0,
          [](int, short, void* self) { static_cast<HttpServer*>(self)->AdjustListeners(); },
          this)) {}

HttpServer::~HttpServer() {
  connections_.clear();
  event_free(again_);
}

Status HttpServer::Listen(int fd, bool unix) {
  if (listen(fd, kBacklog) != 0) return {Code::kIo, std::strerror(errno)};
  auto listener = std::make_unique<Listener>(Listener{*this, unix});
  listener->events = evconnlistener_new(
      base_,
      [](evconnlistener*, int accepted, sockaddr* address, int, void* context) {
        auto& self = *static_cast<Listener*>(context);
        self.server.Accept(accepted, DescribePeer(address, self.unix), self.unix);
      },
      listener.get(), LEV_OPT_CLOSE_ON_EXEC, 0, fd);
  evconnlistener_set_error_cb(listener->events, [](evconnlistener*, void* context) {
    static_cast<Listener*>(context)->server.PauseAccepting(kAcceptPause);
  });
  listeners_.push_back(std::move(listener));
  return {};
}

bool HttpServer::Full(bool unix) const {
  const auto count =
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& connection) { return connection->peer().unix == unix; });
  return static_cast<std::size_t>(count) > (unix ? limits_.unix : limits_.tcp) + limits_.kept;
}

std::size_t HttpServer::Bytes() const {
  std::size_t bytes = 0;
  for (const auto& connection : connections_) bytes += connection->Bytes();
  return bytes;
}

bool HttpServer::Crowded(bool unix) const {
  const auto busy = std::count_if(connections_.begin(), connections_.end(), [&](const auto& each) {
    return each->peer().unix == unix && each->Busy();
  });
  return static_cast<std::size_t>(busy) >= (unix ? limits_.unix : limits_.tcp) ||
         Bytes() >= limits_.bytes;
}

void HttpServer::Accept(int fd, HttpPeer peer, bool unix) {
  GS_DCHECK(OnLoop());
  hooks_.begin_round();
  evutil_make_socket_nonblocking(fd);
  connections_.push_back(std::make_unique<HttpConnection>(*this, fd, std::move(peer)));
  if (Full(unix)) {
    CloseWaiting([&](const HttpConnection& each) { return each.peer().unix == unix; });
  }
  AdjustListeners();
  // Those who connect get a turn to be read before others may take their places.
  if (++accepted_ % kAcceptedAtOnce == 0) PauseAccepting(kNextTurn);
}

bool HttpServer::CloseWaiting(const std::function<bool(const HttpConnection&)>& among) {
  std::map<std::string_view, std::size_t> of_address;
  for (const auto& each : connections_) ++of_address[each->peer().address];
  HttpConnection* chosen = nullptr;
  std::pair<std::size_t, Time> worst;
  for (const auto& each : connections_) {
    const std::pair rank(of_address[each->peer().address], -each->waits_since());
    if (!among(*each) || (chosen != nullptr && rank <= worst) || !each->WaitsForPeer()) continue;
    chosen = each.get();
    worst = rank;
  }
  if (chosen == nullptr) return false;
  Remove(*chosen);
  return true;
}

// When all are busy, new clients wait in the backlog.
void HttpServer::AdjustListeners() {
  for (const auto& listener : listeners_) {
    const bool room = !Full(listener->unix);
    if (room == std::exchange(listener->enabled, room)) continue;
    room ? evconnlistener_enable(listener->events) : evconnlistener_disable(listener->events);
  }
}

// A listener that cannot accept stays readable, and the loop would spin.
void HttpServer::PauseAccepting(const timeval& pause) {
  hooks_.begin_round();
  for (const auto& listener : listeners_) {
    if (std::exchange(listener->enabled, false)) evconnlistener_disable(listener->events);
  }
  event_add(again_, &pause);
}

void HttpServer::OnDurable() {
  GS_DCHECK(OnLoop());
  for (std::size_t i = 0; i < connections_.size(); ++i) connections_[i]->OnDurable();
}

void HttpServer::AbandonHeld(bool for_good) {
  abandons_held_ = abandons_held_ || for_good;
  std::erase_if(connections_, [](const auto& connection) { return connection->held(); });
  AdjustListeners();
}

void HttpServer::CloseSilent() {
  GS_DCHECK(OnLoop());
  const Time now = hooks_.now();
  std::erase_if(connections_, [&](const auto& each) { return each->Overdue(now); });
  for (const bool unix : {false, true}) {
    if (!Full(unix)) continue;
    CloseWaiting([&](const HttpConnection& each) { return each.peer().unix == unix; });
  }
  AdjustListeners();
}

// One that is held up by its peer gives its slot.
bool HttpServer::TakeSlot(bool probe) {
  if (sliced_ >= limits_.sliced + (probe ? limits_.sliced_kept : 0) &&
      !CloseWaiting([](const HttpConnection& each) { return each.sliced(); })) {
    return false;
  }
  ++sliced_;
  return true;
}

void HttpServer::Remove(HttpConnection& connection) {
  std::erase_if(connections_, [&](const auto& each) { return each.get() == &connection; });
  AdjustListeners();
}

}  // namespace gearstalk
