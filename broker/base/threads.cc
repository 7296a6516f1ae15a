#include "broker/base/threads.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace gearstalk {
namespace {

thread_local bool beside_loop = false;

}  // namespace

std::thread StartThread(std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread started([run = std::move(run)] {
    beside_loop = true;
    run();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

bool OnLoop() { return !beside_loop; }

}  // namespace gearstalk
