#include "broker/process/systemd.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>

namespace gearstalk::systemd {

void Notify(const std::string& state) { sd_notify(0, state.c_str()); }

void NotifyReady(const std::string& status) { Notify(fmt::format("READY=1\nSTATUS={}", status)); }

void NotifyReloading() { Notify("RELOADING=1\nSTATUS=reloading the configuration"); }

void NotifyStarting(const std::string& status) {
  Notify(fmt::format("EXTEND_TIMEOUT_USEC=60000000\nSTATUS={}", status));
}

void NotifyStatus(const std::string& status) { Notify(fmt::format("STATUS={}", status)); }

void NotifyStopping() { Notify("STOPPING=1\nSTATUS=stopping"); }

Time WatchdogInterval() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0) return 0;
  return static_cast<Time>(microseconds) * kMicrosecond;
}

void NotifyWatchdog() { Notify("WATCHDOG=1"); }

std::vector<PassedSocket> PassedSockets() {
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  std::vector<PassedSocket> sockets;
  for (int i = 0; i < count; ++i) {
    sockets.push_back({SD_LISTEN_FDS_START + i, names[i]});
    std::free(names[i]);
  }
  std::free(names);
  return sockets;
}

}  // namespace gearstalk::systemd
