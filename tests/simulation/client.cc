#include "tests/simulation/client.h"

#include <algorithm>

#include "tests/simulation/world.h"

namespace gearstalk::simulation {

void Client::Say(const std::string& what) const {
  world_.Say("client " + std::to_string(number_) + ": " + what);
}

void Client::Connect() {
  if (connection_ != nullptr) return;
  connection_ = world_.Accept(*this);
  ++session_;
  stale_ = half_closed_ = false;
  input_.clear();
  on_way_.clear();
  last_arrival_ = world_.now();
  if (connection_ == nullptr) {
    return world_.After(world_.random().Between(kMillisecond, kSecond), [this] { Connect(); });
  }
  OnConnected();
}

void Client::Reset(Time later) {
  if (connection_ == nullptr) return;
  Say("resets its connection");
  connection_->SetEar(&world_.nobody());
  world_.After(later, [this, id = connection_->peer().id, life = world_.life()] {
    if (world_.life() == life) world_.broker()->Break(id);
  });
  OnClosed();
}

void Client::HalfClose() {
  if (connection_ == nullptr || half_closed_) return;
  Say("sends no more");
  SendPiece({});
  half_closed_ = stale_ = true;
  world_.ledger().Forget(this, world_.now());
}

void Client::Stall(bool stalled) {
  if (connection_ == nullptr) return;
  connection_->Stall(stalled);
  stale_ = true;
}

void Client::OnBytes(std::string_view bytes) {
  if (&connection_->broker() != world_.broker())
    return world_.ledger().Fail("a broker answers that does not lead any more");
  input_ += bytes;
  const std::size_t before = input_.size();
  OnInput(input_);
  // Replies after these are made after the stall.
  if (input_.empty() && before > 0 && connection_ != nullptr && !connection_->stalled() &&
      !connection_->unsent() && !half_closed_) {
    stale_ = false;
  }
}

void Client::OnClosed() {
  if (connection_ == nullptr) return;
  connection_ = nullptr;
  ++session_;
  input_.clear();
  world_.ledger().Forget(this, world_.now());
  held_.clear();
  OnGone();
  world_.After(world_.random().Between(kMillisecond, 2 * kSecond), [this] { Connect(); });
}

// In pieces, each a little later than the one before.
void Client::Send(std::string_view bytes) {
  if (connection_ == nullptr || half_closed_) return;
  Random& random = world_.random();
  while (!bytes.empty()) {
    const std::size_t size = random.Percent(80) ? bytes.size() : 1 + random.Below(bytes.size());
    SendPiece(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
}

void Client::SendPiece(std::string_view bytes) {
  Random& random = world_.random();
  const Time most = random.OneIn(50) ? kSecond / 4 : kMillisecond;
  last_arrival_ = std::max(last_arrival_, world_.now() + random.Between(50 * kMicrosecond, most));
  on_way_.emplace_back(bytes);
  world_.After(last_arrival_ - world_.now(), [this, session = session_] { Arrive(session); });
}

// The next piece, or the end of what it sends.
void Client::Arrive(std::uint64_t session) {
  if (session != session_ || connection_ == nullptr) return;
  if (world_.awake_at() > world_.now()) {
    return world_.After(world_.awake_at() - world_.now(), [this, session] { Arrive(session); });
  }
  const std::string bytes = std::move(on_way_.front());
  on_way_.pop_front();
  bytes.empty() ? connection_->ReceiveEof() : connection_->Receive(bytes);
}

void Client::ActIn(Time delay) {
  world_.After(delay, [this, session = session_] {
    if (session == session_ && connection_ != nullptr) Act();
  });
}

void Client::ResetIn(Time delay) {
  world_.After(delay, [this, session = session_] {
    if (session == session_) Reset(0);
  });
}

KnownJob* Client::Take(JobId id, std::string_view body, const Ledger::HandOut& out) {
  Ledger& ledger = world_.ledger();
  KnownJob* const known = ledger.OfBody(body);
  if (known == nullptr) return nullptr;
  const bool was_unknown = known->id == 0;
  if (ledger.MayComeAgain(*known)) known->id = id;
  if (!was_unknown && known->id != id) {
    ledger.Fail("job " + std::to_string(id) + " has the body of job " + std::to_string(known->id));
    return nullptr;
  }
  const Job* const job = world_.broker()->engine().Find(id);
  const auto* const me = dynamic_cast<const Consumer*>(connection_->session());
  const bool mine = job != nullptr && job->holder() == me;
  // A reservation that is over already was held back for the journal.
  Ledger::HandOut told = out;
  told.stale = out.stale || !mine;
  told.tube = world_.NumberOf(known->tube);
  if (was_unknown) ledger.Learn(*known, id);
  ledger.OnHandedOut(*known, told, mine ? world_.TimeOfBroker(job->taken_at()) : 0, world_.now());
  held_.push_back(known);
  return known;
}

}  // namespace gearstalk::simulation
