// bridge: a worker of one server that is a foreground client of another one. Results, progress and
// failures go back as they come. If the other server dies, the worker's connection is closed: its
// jobs run again.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/move/takeover/relay.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

struct Options {
  std::string from, to;
  std::vector<std::string> functions;
  std::size_t jobs = 100;
  Target tls;  // how `to` is reached, and `from` with --tls-from
  bool tls_from = false;

  Parameters AsParameters() {
    Parameters parameters = {
        {"--from", &from, "gearman://HOST:PORT to work for", kRequired},
        {"--to", &to, "gearman://HOST:PORT to submit to", kRequired},
        {"--function", &functions, "A function; may be repeated", kRequired},
        {"--tls", &tls.tls, "Speak TLS with the server to submit to"},
        {"--tls-from", &tls_from, "Speak TLS with the server to work for, too"},
        {"--jobs", &jobs, "Jobs at a time", kPositive}};
    tls.AddTlsFilesTo(parameters, {});
    return parameters;
  }
};

class Bridge {
 public:
  explicit Bridge(const Options& options) : options_(options) {}

  // Both servers have answered.
  bool began() const { return began_; }
  // Runs until an error or a signal; then jobs in flight run again.
  Status Run() {
    GS_TRY(Begin());
    while (g_stop == 0) {
      bool idle = true;
      GS_TRY(Pump(idle));
      if (!idle) continue;
      pollfd both[2] = {{.fd = worker_->fd(), .events = POLLIN, .revents = 0},
                        {.fd = relay_->fd(), .events = POLLIN, .revents = 0}};
      ::poll(both, 2, 500);
    }
    return {};
  }

 private:
  Status Begin() {
    Target from = options_.tls;
    from.address = AddressOf(options_.from);
    from.tls = options_.tls_from;
    Target to = options_.tls;
    to.address = AddressOf(options_.to);
    worker_ = GS_TRY(GearmanClient::Connect(from));
    asker_ = GS_TRY(GearmanClient::Connect(from));
    GS_TRY(worker_->RefuseSame(to));
    relay_ = std::make_unique<Relay>(*worker_);
    GS_TRY(relay_->Connect(to));
    worker_->Add(packet::kSetClientId, {fmt::format("gearstalkctl-bridge-{}", getpid())});
    for (const std::string& function : options_.functions) {
      worker_->Add(packet::kCanDo, {function});
    }
    began_ = true;
    return {};
  }

  // Handles every packet that has arrived from either side.
  Status Pump(bool& idle) {
    Grab();
    if (worker_->sends()) idle = false;
    for (;;) {
      Result<Packet> next = worker_->Next(0);
      if (!next.ok()) {
        if (next.status().code() != Code::kNotFound) return next.status();
        return relay_->Pump(idle);
      }
      idle = false;
      GS_TRY(OnPacket(next.value()));
      Grab();
    }
  }

  void Grab() {
    if (asked_ || relay_->full() || relay_->in_flight() >= options_.jobs) return;
    asked_ = true;
    worker_->Add(packet::kGrabJobAll, {});
  }

  Status OnPacket(Packet& packet) {
    Assigned job;
    if (packet.type == packet::kNoJob) {
      worker_->Add(packet::kPreSleep, {});
    } else if (packet.type == packet::kNoop) {
      asked_ = false;
    } else if (TakeAssigned(packet, job)) {
      asked_ = false;
      GS_TRY(FixCutKeys(*asker_, {&job}));
      relay_->Submit(std::move(job));
    }
    return {};
  }

  const Options& options_;
  std::unique_ptr<GearmanClient> worker_;
  std::unique_ptr<GearmanClient> asker_;  // to the same server
  std::unique_ptr<Relay> relay_;
  bool began_ = false;
  bool asked_ = false;  // a grab is under way, or it sleeps
};

int RunBridge(Options& options) {
  StopOnSignals();
  if (!options.from.starts_with("gearman://") || !options.to.starts_with("gearman://")) {
    return Fail(kBadUsage, "bridge: expected gearman://HOST:PORT");
  }
  if (!options.tls.tls && !options.tls_from && options.tls.HasTlsFiles()) {
    return Fail(kBadUsage, "bridge: the files of TLS go with --tls or --tls-from");
  }
  if (options.from == options.to) {
    return Fail(kBadUsage, "bridge: both servers are " + options.from);
  }
  int pause = 1;
  while (g_stop == 0) {
    auto bridge = std::make_unique<Bridge>(options);
    const Status status = bridge->Run();
    if (bridge->began()) pause = 1;
    bridge.reset();  // its jobs run again
    if (g_stop != 0) break;
    if (status.code() == Code::kInvalid) return Fail(status);
    Tell(fmt::format("{}; again in {} ms", status.message(), pause * 100));
    Pause(pause);
    pause = std::min(pause * 2, 50);
  }
  return kDone;
}

}  // namespace

Command BridgeCommand() {
  return {"bridge", "Work for one Gearman server by submitting to another",
          "gearstalkctl bridge --from gearman://127.0.0.1:4731 --to gearman://127.0.0.1:4730 "
          "--function resize",
          BindMove(RunBridge)};
}

}  // namespace gearstalk::ctl
