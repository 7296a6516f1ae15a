#include "broker/replica/store_call.h"

#include <poll.h>

#include <memory>

#include "broker/base/clock.h"

namespace gearstalk {
namespace {

constexpr Time kPatience = 30 * kSecond;
constexpr std::uint64_t kPage = 16;  // keys
constexpr int kTurnMs = 20;

Status Failure(const StoreResult& result) {
  switch (result.answer) {
    case StoreAnswer::kDone:
      return {};
    case StoreAnswer::kFenced:
      return {Code::kJournal, "another broker leads this shard"};
    case StoreAnswer::kTrimmed:
      return {Code::kJournal, "the journal was trimmed meanwhile; try again"};
    case StoreAnswer::kFull:
    case StoreAnswer::kRefused:
    case StoreAnswer::kFailed:
      break;
  }
  return result.why;
}

}  // namespace

Status StoreCalls::Wait(const std::function<void(LogStore::Done)>& call) {
  // Shared with the answer, which may come after this call has given up.
  const auto answer = std::make_shared<std::pair<bool, StoreResult>>();
  call([answer](const StoreResult& result) { *answer = {true, result}; });
  const Time limit = BootTime() + kPatience;
  while (!answer->first) {
    const Time now = BootTime();
    if (now >= limit) {
      return {Code::kIo, "no answer from " + words().name + ": " + store_.Stats().trouble};
    }
    BeatIfDue(now);
    store_.Tick(now);
    pollfd ready{.fd = store_.NotifyFd(), .events = POLLIN, .revents = 0};
    poll(&ready, 1, kTurnMs);
    store_.OnNotify();
  }
  return Failure(answer->second);
}

void StoreCalls::BeatFor(Revision fence, const Reign& reign) {
  fence_ = fence;
  reign_ = reign;
  next_beat_ = 0;
}

// The next append shows whether it was fenced.
void StoreCalls::BeatIfDue(Time now) {
  if (now < next_beat_) return;
  next_beat_ = now + reign_.lease / 4;
  store_.Beat(fence_, reign_.epoch, [](const StoreResult&, Time) {});
}

Status StoreCalls::Open() {
  return Wait([this](LogStore::Done done) { store_.Open(std::move(done)); });
}

template <typename T>
Result<T> StoreCalls::WaitFor(
    const std::function<void(std::function<void(StoreResult, T)>)>& call) {
  const auto answer = std::make_shared<T>();
  GS_TRY(Wait([&call, answer](LogStore::Done done) {
    call([answer, done = std::move(done)](const StoreResult& result, T got) {
      *answer = std::move(got);
      done(result);
    });
  }));
  return std::move(*answer);
}

Result<LogView> StoreCalls::Look() {
  return WaitFor<LogView>([this](auto done) { store_.Look(std::move(done)); });
}

Result<std::vector<LogPart>> StoreCalls::Read(std::uint64_t from, Revision at) {
  return WaitFor<std::vector<LogPart>>(
      [&](auto done) { store_.Read(from, kPage, at, std::move(done)); });
}

Result<LogStore::Acquired> StoreCalls::Acquire(const LogView& seen, const Reign& reign) {
  return WaitFor<LogStore::Acquired>(
      [&](auto done) { store_.Acquire(seen, reign, std::move(done)); });
}

Status StoreCalls::Append(Revision fence, std::uint64_t seq, const std::string& bytes,
                          std::uint64_t oldest) {
  return Wait(
      [&](LogStore::Done done) { store_.Append(fence, seq, bytes, oldest, std::move(done)); });
}

Status StoreCalls::Release(Revision fence, const Reign& reign) {
  next_beat_ = kNever;
  return Wait([&](LogStore::Done done) { store_.Release(fence, reign, std::move(done)); });
}

Status StoreCalls::ReplaceMeta(Revision seen, const ShardMeta& meta) {
  return Wait([&](LogStore::Done done) { store_.ReplaceMeta(seen, meta, std::move(done)); });
}

}  // namespace gearstalk
