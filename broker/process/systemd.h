#pragma once

#include <string>
#include <vector>

#include "broker/base/clock.h"

// sd_notify(3), sd_watchdog_enabled(3) and sd_listen_fds(3). Without a service manager they do
// nothing.
namespace gearstalk::systemd {

// Lines of KEY=VALUE.
void Notify(const std::string& state);
// The broker is ready (again); `status` is a line for people.
void NotifyReady(const std::string& status);
void NotifyReloading();
// It will be a while yet until it is ready: to be called every few seconds.
void NotifyStarting(const std::string& status);
void NotifyStatus(const std::string& status);
void NotifyStopping();

// How often the watchdog wants to hear of the process; 0: never.
Time WatchdogInterval();
void NotifyWatchdog();

struct PassedSocket {
  int fd;
  std::string name;  // FileDescriptorName= of the socket unit
};
// Each may be had once: the variables are taken away, so that no child believes them.
std::vector<PassedSocket> PassedSockets();

}  // namespace gearstalk::systemd
