// After the faults: everything ends, and what is left is what has to be left.

#include <algorithm>
#include <sstream>

#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

constexpr Time kPatience = 400 * kSecond;  // more than any TTR, delay or timeout

// The peer of the one who looks at everything at the end.
class Listener final : public Ear {
 public:
  void OnBytes(std::string_view bytes) override { said += bytes; }
  void OnClosed() override { closed = true; }
  // A whole reply, with its body.
  bool Whole() const {
    const std::size_t end = said.find("\r\n");
    if (end == std::string::npos) return false;
    const bool body = said.starts_with("OK ") || said.starts_with("RESERVED ");
    if (!body) return true;
    const std::size_t size = std::stoul(said.substr(said.substr(0, end).rfind(' ')));
    return said.size() >= end + 2 + size + 2;
  }

  std::string said;
  bool closed = false;
};

}  // namespace

void World::Finish() {
  Say("the faults end");
  Heal();
  for (auto& client : clients_) client->Finish();
  RunUntil(now() + kPatience);
  if (!ledger_.ok()) return;
  if (broker_ == nullptr) return ledger_.Fail("the broker does not come back");
  CheckWaits();
  ledger_.Compare(broker_->engine());
  for (auto& client : clients_) client->Reset(0);
  RunUntil(now() + kMillisecond);
  clients_.clear();
  events_.clear();
  if (ledger_.ok()) Drain();
  if (ledger_.ok()) CheckEmpty();
}

// Nobody waits for ever.
void World::CheckWaits() {
  for (const auto& client : clients_) {
    const std::string waits = client->Waits();
    if (waits.empty() || client->MayWait()) continue;
    ledger_.Fail("client " + std::to_string(client->number()) + " waits for " + waits);
  }
}

std::string World::Talk(const std::string& line) {
  static Listener listener;
  static std::uint64_t life = 0;
  static Connection* connection = nullptr;
  if (connection == nullptr || life != life_) {
    life = life_;
    listener.closed = false;
    connection = Accept(listener);
  }
  listener.said.clear();
  connection->Receive(line);
  const Time limit = now() + 10 * kSecond;
  while (ledger_.ok() && !listener.Whole() && !listener.closed && now() < limit) {
    RunRound();
    RunUntil(now() + kMillisecond);
  }
  if (!listener.Whole()) ledger_.Fail("no answer to " + line);
  if (line == "quit\r\n") connection = nullptr;
  return listener.said;
}

// Takes every job out, as a client does.
void World::Drain() {
  std::vector<std::string> tubes;
  std::istringstream listed(Talk("list-tubes\r\n"));
  for (std::string line; std::getline(listed, line);) {
    if (line.starts_with("- ")) tubes.push_back(line.substr(2, line.find('\r') - 2));
  }
  for (const std::string& tube : tubes) {
    Talk("pause-tube " + tube + " 0\r\n");
    Talk("watch " + tube + "\r\n");
    Talk("use " + tube + "\r\n");
    while (ledger_.ok() && Talk("kick 1000\r\n") != "KICKED 0\r\n") {
    }
  }
  for (int empty = 0; ledger_.ok() && empty < 3;) {
    const std::string reply = Talk("reserve-with-timeout 2\r\n");
    if (!reply.starts_with("RESERVED ")) {
      ++empty;
      continue;
    }
    const std::size_t end = reply.find("\r\n");
    KnownJob* const job = ledger_.OfBody(std::string_view(reply).substr(end + 2, reply.size() - end - 4));
    if (job == nullptr) return;
    if (job->ended && !ledger_.damaged()) ledger_.Fail("job " + std::to_string(job->id) + " is back after its end");
    const std::string id = reply.substr(9, reply.find(' ', 9) - 9);
    if (Talk("delete " + id + "\r\n") != "DELETED\r\n") ledger_.Fail("job " + id + " cannot be deleted");
    ledger_.OnEnded(*job);
  }
}

void World::CheckEmpty() {
  ledger_.Compare(broker_->engine());
  const EngineStats stats = broker_->engine().Stats();
  if (stats.ready + stats.delayed + stats.buried + stats.reserved > 0) {
    ledger_.Fail("jobs are left: " + std::to_string(stats.ready) + " ready, " + std::to_string(stats.delayed) +
                 " delayed, " + std::to_string(stats.buried) + " buried, " + std::to_string(stats.reserved) + " reserved");
  }
  CheckSpace();
  if (!ledger_.ok()) return;
  StopInOrder();
  RunUntil(now() + 10 * kSecond);
  if (ledger_.ok() && broker_ == nullptr) ledger_.Fail("the broker does not come back");
}

// Without jobs the log is a few segments, whatever has been in it.
void World::CheckSpace() {
  if (!plan_.Has(Feature::kJournal)) return;
  RunUntil(now() + 5 * kSecond);
  const SegmentStats segments = broker_->journal().Segments();
  const std::uint64_t most = 3 * segments.live_bytes + 3 * segments.size;
  if (segments.stored_bytes <= most) return;
  ledger_.Fail("the log of an empty broker has " + std::to_string(segments.stored_bytes) + " bytes, live are " +
               std::to_string(segments.live_bytes));
}

}  // namespace gearstalk::simulation
