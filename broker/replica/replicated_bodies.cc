// Bodies that stay in the store: they are left out while following, and read back while leading.

#include <utility>

#include "broker/journal/record.h"
#include "broker/replica/replicated_journal.h"

namespace gearstalk {

Status ReplicatedJournal::Apply(const Record& record) {
  const bool stays = KeepsBodies() && IsLeftOut(record) && state_->TakesBodiesLater();
  if (!stays) return state_->Apply(record);
  BodyHash hash{};
  Record without = record;
  without.body = {};
  without.body_left_out = static_cast<std::uint32_t>(record.body.size());
  if (record.unique_is_body) {
    hash = HashOfBody(record.body);
    without.put_key = View(hash);
  }
  return state_->Apply(without);
}

void ReplicatedJournal::Fetch(std::uint64_t id, BodyUse use) {
  bodies_.Ask(id, use, log_.compactor().Find(id));
}

// Whether bodies are read that the state needs before this broker is active.
bool ReplicatedJournal::AwaitsBodies() {
  if (!std::exchange(missing_asked_, true)) {
    for (const std::uint64_t id : state_->MissingBodies()) {
      Fetch(id, BodyUse::kReply);
      missing_.insert(id);
    }
  }
  bodies_.Send(fence_);
  return !missing_.empty();
}

// A standby shows bodies, and judges none. Otherwise nothing is done with one while nobody may be
// served: the engine asks again when it runs again.
void ReplicatedJournal::OnBodyRead(const StoredBodies::Request& request, const BodyRead& read) {
  if (role_ == Role::kOver) return;
  if (role_ == Role::kCatchingUp && missing_.contains(request.id))
    return TakeMissing(request, read);
  if (request.use == BodyUse::kCarry) {
    return log_.TakeBody(request.id, read, read.result == BodyRead::Result::kDamaged);
  }
  const bool shows = role_ == Role::kFollowing && read.result == BodyRead::Result::kWhole;
  if (shows || MayServe()) return state_->OnBody(request.id, read);
  state_->OnBody(request.id, {BodyRead::Result::kFailed, {}, "this broker serves nobody now", 0});
}

void ReplicatedJournal::TakeMissing(const StoredBodies::Request& request, const BodyRead& read) {
  if (read.result == BodyRead::Result::kFailed) return Fetch(request.id, request.use);
  if (read.result == BodyRead::Result::kDamaged) {
    return Over({Code::kCorrupt, std::string(read.problem)}, 1);
  }
  missing_.erase(request.id);
  state_->OnBody(request.id, read);
}

// Parts from here on stay: what is being read lies there.
std::uint64_t ReplicatedJournal::OldestNeeded() const {
  const std::uint64_t segment = bodies_.oldest();
  return segment == UINT64_MAX ? UINT64_MAX : space_.FirstOf(segment);
}

}  // namespace gearstalk
