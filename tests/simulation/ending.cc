// After the faults: everything ends, and what is left is what has to be left.

#include <algorithm>
#include <sstream>

#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

constexpr Time kPatience = 400 * kSecond;  // more than any TTR, delay or timeout
constexpr Time kQuiet = World::kLatestBreak + kSecond;

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
  EndSchedules();
  for (auto& client : clients_) client->Finish();
  auto last = std::make_unique<BeanstalkClient>(*this, plan_.clients + 1);
  last->TakeAll();
  last->Connect();
  clients_.push_back(std::move(last));
  operator_.Finish();
  const Time limit = now() + kPatience;
  RunUntil(now() + kQuiet);
  while (ledger_.ok() && now() < limit && SomebodyWaits()) RunUntil(now() + kQuiet);
  if (!ledger_.ok()) return;
  if (broker_ == nullptr) return ledger_.Fail("the broker does not come back");
  CheckWaits();
  ledger_.Compare(broker_->engine(), now());
  for (auto& client : clients_) client->Reset(0);
  RunUntil(now() + kMillisecond);
  clients_.clear();
  events_.clear();
  if (ledger_.ok()) CheckFollowers();
  if (ledger_.ok()) Drain();
  if (ledger_.ok()) CheckEmpty();
}

bool World::SomebodyWaits() const {
  return broker_ == nullptr ||
         std::any_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return !client->Waits().empty(); });
}

// Nobody waits for ever.
void World::CheckWaits() {
  for (const auto& client : clients_) {
    const std::string waits = client->Waits();
    if (waits.empty()) continue;
    ledger_.Fail("client " + std::to_string(client->number()) + " waits for " + waits);
  }
}

// Takes every job out, as a client does. One that has failed may be in a tube that was not there.
void World::Drain() {
  Listener listener;
  Connection& connection = *Accept(listener);
  const Question ask = [&](const std::string& line) {
    listener.said.clear();
    connection.Receive(line);
    const Time limit = now() + 10 * kSecond;
    while (ledger_.ok() && !listener.Whole() && !listener.closed && now() < limit) {
      RunRound();
      RunUntil(now() + kMillisecond);
    }
    if (!listener.Whole()) ledger_.Fail("no answer to " + line);
    return listener.said;
  };
  for (int sweep = 0; ledger_.ok() && sweep < 3; ++sweep) {
    Open(ask);
    ledger_.OnSweep();
    for (int empty = 0; ledger_.ok() && empty < 2;) empty += TakeOne(ask) ? 0 : 1;
  }
  connection.SetEar(nullptr);
  connection.Break();
}

// Ends pauses, burials and delays.
void World::Open(const Question& ask) {
  std::istringstream listed(ask("list-tubes\r\n"));
  for (std::string line; std::getline(listed, line);) {
    if (!line.starts_with("- ")) continue;
    const std::string tube = line.substr(2, line.find('\r') - 2);
    ask("pause-tube " + tube + " 0\r\n");
    ask("watch " + tube + "\r\n");
    ask("use " + tube + "\r\n");
    while (ledger_.ok() && ask("kick 1000\r\n") != "KICKED 0\r\n") continue;
  }
}

bool World::TakeOne(const Question& ask) {
  const std::string reply = ask("reserve-with-timeout 2\r\n");
  if (!reply.starts_with("RESERVED ")) return false;
  const std::size_t end = reply.find("\r\n");
  KnownJob* const job =
      ledger_.OfBody(std::string_view(reply).substr(end + 2, reply.size() - end - 4));
  if (job == nullptr) return false;
  const std::string id = reply.substr(9, reply.find(' ', 9) - 9);
  if (job->ended && !ledger_.damaged()) ledger_.Fail("job " + id + " is back after its end");
  ledger_.OnSwept(*job, std::stoull(id));
  ledger_.OnEndAsked(*job);
  if (ask("delete " + id + "\r\n") != "DELETED\r\n")
    ledger_.Fail("job " + id + " cannot be deleted");
  ledger_.OnEnded(*job);
  return true;
}

void World::CheckEmpty() {
  ledger_.Compare(broker_->engine(), now());
  const EngineStats stats = broker_->engine().Stats();
  if (stats.ready + stats.delayed + stats.buried + stats.reserved > 0) {
    ledger_.Fail("jobs are left: " + std::to_string(stats.ready) + " ready, " +
                 std::to_string(stats.delayed) + " delayed, " + std::to_string(stats.buried) +
                 " buried, " + std::to_string(stats.reserved) + " reserved");
  }
  CheckSpace();
  if (!ledger_.ok()) return;
  StopInOrder();
  RunUntil(now() + 20 * kSecond);
  if (ledger_.ok() && broker_ == nullptr) ledger_.Fail("the broker does not come back");
}

// Without jobs the log is a few segments, whatever has been in it. A shared one gets shorter
// slowly.
void World::CheckSpace() {
  if (!plan_.Has(Feature::kJournal) && !shared()) return;
  const Time limit = now() + (shared() ? 300 : 5) * kSecond;
  SegmentStats segments;
  do {
    RunUntil(now() + 5 * kSecond);
    if (!ledger_.ok()) return;
    if (broker_ == nullptr) return ledger_.Fail("the broker is gone");
    segments = broker_->journal().Segments();
    if (segments.stored_bytes <= 3 * segments.live_bytes + 3 * segments.size) return;
  } while (now() < limit);
  ledger_.Fail("the log of an empty broker has " + std::to_string(segments.stored_bytes) +
               " bytes, live are " + std::to_string(segments.live_bytes));
}

}  // namespace gearstalk::simulation
