#include "broker/server/routers.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "broker/base/log.h"
#include "broker/server/router_process.h"

namespace gearstalk {
namespace {

// A router that lived for so long is replaced at once.
constexpr Time kShortLife = kSecond;
constexpr Time kLongestPause = 30 * kSecond;
// Seconds without an answer after which a router is killed.
constexpr int kMostSilent = 5;
// Seconds between two questions to a router that has nothing to do.
constexpr std::uint64_t kIdlePing = 5;
constexpr std::uint64_t kPingBytes = link::kHead + 5 * sizeof(std::uint64_t);
// The most time for a new router to serve, in milliseconds.
constexpr int kStartTime = 30'000;
constexpr int kEndTime = 1000;  // for one that is told to end

// Descriptors that are no clients': all routers together have as many clients as the broker would
// have without them.
constexpr std::size_t kOtherDescriptors = 64;

Time PauseAfter(unsigned short_lives) {
  if (short_lives == 0) return 0;
  return std::min(kSecond << std::min(short_lives - 1, 10U), kLongestPause);
}

}  // namespace

Routers::Routers(EventLoop& loop, LinkHost& host, std::size_t count)
    : loop_(loop), host_(host), due_(loop, [this] { host_.BeginRound(); }), children_(count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::size_t room = std::max<std::size_t>(limit.rlim_cur, 2 * kOtherDescriptors);
  settings_.connections = (room - kOtherDescriptors) / count + 1;
}

// A router ends when its link does.
Routers::~Routers() {
  for (Child& child : children_) {
    child.link.reset();
    if (child.pid > 0) ended_.push_back(child.pid);
  }
  for (int waited = 0; waited < kEndTime; ++waited) {
    Reap();
    if (ended_.empty()) return;
    usleep(1000);
  }
  for (const pid_t pid : ended_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void Routers::SetTls(const std::shared_ptr<const TlsContext>& tls) {
  settings_.tls = tls != nullptr;
  if (tls != nullptr) {
    settings_.certificate = tls->texts().certificate;
    settings_.key = tls->texts().key;
    settings_.client_ca = tls->texts().client_ca;
    settings_.client_certificates = static_cast<std::uint8_t>(tls->files().client_certificates);
  }
  Send();
}

void Routers::SetHandshakeTimeout(Time timeout) {
  settings_.handshake_timeout = static_cast<std::uint64_t>(timeout);
  Send();
}

void Routers::Send() {
  EachLink([&](RouterLink& link) { link.Send(settings_); });
}

Status Routers::Start(std::vector<const ListenSocket*> listeners, Time now) {
  listeners_ = std::move(listeners);
  settings_.tls_uses.clear();
  for (const ListenSocket* listener : listeners_) {
    settings_.tls_uses.push_back(static_cast<char>(listener->address().tls));
  }
  for (Child& child : children_) GS_TRY(Spawn(child, now));
  for (Child& child : children_) {
    child.link->Flush();
    for (int waited = 0; child.link->counters().ping < child.ping; waited += 100) {
      child.link->WaitForFrames(100);
      if (child.link->lost().empty() && waited < kStartTime) continue;
      return {Code::kIo,
              fmt::format("cannot start a router: {}",
                          child.link->lost().empty() ? "it does not answer" : child.link->lost())};
    }
  }
  return {};
}

Status Routers::Spawn(Child& child, Time now) {
  const auto number = static_cast<std::size_t>(&child - children_.data());
  std::vector<int> descriptors;
  for (const ListenSocket* listener : listeners_) descriptors.push_back(listener->fd_of(number));
  child.start_again = kNever;
  child.started = now;
  RouterProcess process = GS_TRY(StartRouter(number, descriptors));
  child.pid = process.pid;
  child.link = std::make_unique<RouterLink>(loop_, std::move(process.link), host_);
  child.link->Pause(paused_);
  child.link->Send(settings_);
  child.link->Listen(true);
  child.silent = 0;
  child.ping = child.heard = 0;
  child.link->Ping(++child.ping);
  child.link->Flush();
  return {};
}

void Routers::ListenAgain() {
  EachLink([&](RouterLink& link) { link.Listen(true); });
}

void Routers::StopListening() {
  stopping_ = true;
  EachLink([&](RouterLink& link) { link.Listen(false); });
}

void Routers::Pause(bool paused) {
  if (std::exchange(paused_, paused) == paused) return;
  EachLink([&](RouterLink& link) { link.Pause(paused); });
}

void Routers::EndRound(Time now) {
  for (Child& child : children_) {
    if (child.link == nullptr) continue;
    child.link->Flush();
    if (!child.link->lost().empty()) Replace(child, child.link->lost(), now);
  }
}

void Routers::Replace(Child& child, std::string_view why, Time now) {
  const auto number = static_cast<std::size_t>(&child - children_.data());
  Log(LogLevel::kError, "a router is lost, its clients with it",
      {{"router", number},
       {"process", static_cast<std::uint64_t>(child.pid)},
       {"error", why},
       {"streams", child.link->streams()}});
  child.before = FactsOf(number);
  child.before.streams = 0;
  kill(child.pid, SIGKILL);
  ended_.push_back(std::exchange(child.pid, -1));
  child.link.reset();
  if (now - child.started >= kShortLife) child.short_lives = 0;
  child.start_again = now + PauseAfter(child.short_lives++);
  if (child.start_again <= now) StartAgain(child, now);
}

void Routers::StartAgain(Child& child, Time now) {
  if (stopping_) return;
  ++restarts_;
  const Status spawned = Spawn(child, now);
  if (spawned.ok()) return;
  Log(LogLevel::kError, spawned.message());
  child.start_again = now + PauseAfter(++child.short_lives);
}

void Routers::EverySecond(Time now) {
  Reap();
  ++seconds_;
  for (Child& child : children_) {
    if (child.start_again <= now) StartAgain(child, now);
    if (child.link == nullptr || paused_) continue;
    const std::uint64_t heard = child.link->received_bytes();
    const bool busy = heard - std::exchange(child.heard, heard) > kPingBytes;
    if (child.link->counters().ping < child.ping) {
      if (++child.silent >= kMostSilent) Replace(child, "it does not answer", now);
    } else if (child.silent = 0; busy || seconds_ % kIdlePing == 0) {
      child.link->Ping(++child.ping);
    }
  }
}

void Routers::Reap() {
  std::erase_if(ended_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

void Routers::WaitForEnds(Time most) {
  const Time limit = BootTime() + most;
  EachLink([&](RouterLink& link) { link.Flush(); });
  for (const Child& child : children_) {
    while (child.link != nullptr && child.link->streams() > 0 && child.link->lost().empty()) {
      child.link->Flush();
      child.link->WaitForFrames(10);
      if (BootTime() >= limit) return;
    }
  }
}

std::size_t Routers::UnderWay() const {
  std::size_t bytes = 0;
  EachLink([&](RouterLink& link) { bytes += link.under_way(); });
  return bytes;
}

Routers::Facts Routers::FactsOf(std::size_t index) const {
  const Child& child = children_[index];
  Facts facts = child.before;
  facts.pid = child.pid;
  if (child.link == nullptr) return facts;
  facts.streams = child.link->streams();
  facts.cpu += CpuTimeOf(child.pid);
  const link::Counters& counters = child.link->counters();
  facts.counters.accepted += counters.accepted;
  facts.counters.handshakes += counters.handshakes;
  facts.counters.received_bytes += counters.received_bytes;
  facts.counters.sent_bytes += counters.sent_bytes;
  facts.received_bytes += child.link->received_bytes();
  facts.sent_bytes += child.link->sent_bytes();
  return facts;
}

}  // namespace gearstalk
