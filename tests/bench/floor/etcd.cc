// The least that a replicated journal costs: appends of one size to etcd, each sent when the one
// before was answered, with the fence that a broker has.

#include <poll.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "broker/base/clock.h"
#include "broker/etcd/etcd_store.h"

namespace gearstalk::bench {
namespace {

struct Options {
  etcd::EtcdOptions etcd;
  std::uint64_t record = 1000;
  double seconds = 1;
};

void Check(const StoreResult& result, const char* what) {
  if (result.done()) return;
  std::cerr << what << ": " << result.why.message() << "\n";
  std::exit(1);
}

class Writer {
 public:
  explicit Writer(const Options& options)
      : options_(options), store_(options.etcd, {}, BootTime), bytes_(options.record, 'x') {}

  void Lead() {
    Reign reign;
    reign.broker = reign.id = "floor";
    reign.attempt = reign.epoch = 1;
    reign.lease = options_.etcd.lease;
    bool over = false;
    LogView seen;
    store_.Look([&](const StoreResult& result, const LogView& view) {
      Check(result, "look");
      seen = view;
      over = true;
    });
    TurnUntil([&] { return over; });
    over = false;
    store_.Acquire(seen, reign, [&](const StoreResult& result, const LogStore::Acquired& got) {
      Check(result, "acquire");
      fence_ = got.fence;
      over = true;
    });
    TurnUntil([&] { return over; });
  }

  nlohmann::json Measure() {
    const Time begun = BootTime();
    const Time end = begun + static_cast<Time>(options_.seconds * kSecond);
    Next();
    TurnUntil([&] { return BootTime() >= end; });
    const double seconds = static_cast<double>(BootTime() - begun) / kSecond;
    const double rate = static_cast<double>(done_) / seconds;
    return {{"ops_per_second", rate},
            {"bytes_per_second", rate * static_cast<double>(options_.record)}};
  }

 private:
  void Next() {
    store_.Append(fence_, ++seq_, bytes_, 1, [this](const StoreResult& result) {
      Check(result, "append");
      ++done_;
      Next();
    });
  }

  void TurnUntil(const std::function<bool()>& over) {
    constexpr int kTurnMs = 20;
    while (!over()) {
      pollfd ready{.fd = store_.NotifyFd(), .events = POLLIN, .revents = 0};
      poll(&ready, 1, kTurnMs);
      store_.OnNotify();
      store_.Tick(BootTime());
    }
  }

  const Options& options_;
  etcd::EtcdStore store_;
  const std::string bytes_;
  Revision fence_ = 0;
  std::uint64_t seq_ = 0, done_ = 0;
};

}  // namespace
}  // namespace gearstalk::bench

int main(int argc, char** argv) {
  gearstalk::bench::Options options;
  CLI::App app("Appends to etcd, one at a time.");
  app.add_option("endpoints", options.etcd.endpoints)->required();
  app.add_option("--prefix", options.etcd.prefix)->required();
  app.add_option("--record", options.record, "bytes of an append");
  app.add_option("--seconds", options.seconds);
  CLI11_PARSE(app, argc, argv);
  gearstalk::etcd::LogThroughUs();
  gearstalk::bench::Writer writer(options);
  writer.Lead();
  std::cout << writer.Measure() << std::endl;
  // Connections are not worth the wait for their end.
  std::_Exit(0);
}
