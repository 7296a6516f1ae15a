#include "tests/replica/fake_store.h"

#include <algorithm>
#include <utility>

#include "broker/replica/follower.h"

namespace gearstalk {

bool Simulation::Step(Time until) {
  if (queue_.empty() || queue_.begin()->first > until) return false;
  const auto next = queue_.extract(queue_.begin());
  now = std::max(now, next.key());
  next.mapped()();
  return true;
}

void Simulation::RunUntil(Time until) {
  while (Step(until)) {
  }
  now = std::max(now, until);
}

void FakeShard::NotePart(LogPart part) {
  Event& event = history.emplace_back();
  event.kind = Event::Kind::kPart;
  event.at = view.at;
  event.part = std::move(part);
}

void FakeShard::NoteReign(const Reign& reign) {
  Event& event = history.emplace_back();
  event.kind = Event::Kind::kReign;
  event.at = view.at;
  event.reign = reign;
}

void FakeShard::NoteBeat() {
  Event& event = history.emplace_back();
  event.at = view.at;
  event.beat = view.beat_at;
}

void FakeStore::Do(Execute execute) { Try(std::make_shared<bool>(false), execute); }

// What is on its way arrives, also when the one who sent it is gone.
void FakeStore::Try(const std::shared_ptr<bool>& answered, const Execute& execute) {
  const Time sent = Sent();
  if (!link_.cut && !simulation_.Chance(link_.lose_request)) {
    simulation_.After(Delay(), [this, alive = alive_, answered, execute, sent] {
      const Answer answer = execute(sent);
      if (!*alive || answer == nullptr || simulation_.Chance(link_.lose_answer)) return;
      simulation_.After(Delay(), [this, alive, answered, answer] {
        if (!*alive || link_.cut || *answered) return;
        *answered = true;
        link_.deliver([alive, answer] {
          if (*alive) answer();
        });
      });
    });
  }
  simulation_.After(link_.hedge, [this, alive = alive_, answered, execute] {
    if (*alive && !*answered) Try(answered, execute);
  });
}

void FakeStore::Open(Done done) {
  simulation_.After(0, [this, alive = alive_, done] {
    if (*alive) link_.deliver([done, opened = link_.opened] { done(opened); });
  });
}

void FakeStore::Look(std::function<void(StoreResult, const LogView&)> done) {
  Do([&shard = shard_, &link = link_, done](Time) -> Answer {
    return [done, view = shard.view, looked = link.looked] { done(looked, view); };
  });
}

void FakeStore::Found(const ShardMeta& meta, Done done) {
  Do([&shard = shard_, &link = link_, meta, done](Time) -> Answer {
    if (!link.founded.done()) return [done, founded = link.founded] { done(founded); };
    if (shard.full) return [done] { done({StoreAnswer::kFull, {Code::kJournal, "full"}}); };
    if (shard.view.meta_at != 0 || shard.view.leader_at != 0) {
      return [done] { done({StoreAnswer::kFenced, {}}); };
    }
    shard.view.meta_at = shard.Begin();
    shard.view.meta = meta;
    return [done] { done({}); };
  });
}

void FakeStore::Announce(const Reign& /*standby*/, Done done) {
  Do([&shard = shard_, &link = link_, done](Time) -> Answer {
    if (!link.announced.done()) return [done, announced = link.announced] { done(announced); };
    if (shard.full) return [done] { done({StoreAnswer::kFull, {Code::kJournal, "full"}}); };
    shard.view.standby_at = shard.Begin();
    return [done] { done({}); };
  });
}

void FakeStore::ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) {
  Do([&shard = shard_, seen, meta, done](Time) -> Answer {
    if (shard.view.meta_at != seen) return [done] { done({StoreAnswer::kFenced, {}}); };
    shard.view.meta_at = shard.Begin();
    shard.view.meta = meta;
    return [done] { done({}); };
  });
}

void FakeStore::Acquire(const LogView& seen, const Reign& reign,
                        std::function<void(StoreResult, const Acquired&)> done) {
  const Time first = Sent();
  Do([this, &shard = shard_, forced = link_.acquired, alive = alive_, seen, reign, done,
      first](Time) -> Answer {
    if (!forced.done()) return [done, forced] { done(forced, {}); };
    LogView& view = shard.view;
    const bool silent = seen.leader_at != 0 && !seen.leader.vacant;
    const bool free = view.leader_at == seen.leader_at && (!silent || view.beat_at == seen.beat_at);
    if (free && shard.full) {
      return [done] { done({StoreAnswer::kFull, {Code::kJournal, "full"}}, {}); };
    }
    if (free) {
      view.leader_at = view.beat_at = shard.Begin();
      view.leader = reign;
      shard.NoteReign(reign);
      shard.NoteBeat();
    }
    if (!IsSameReign(view.leader, reign)) return [done] { done({StoreAnswer::kFenced, {}}, {}); };
    const Acquired acquired{view.leader_at, view.last, view.oldest, first, view.leader_at};
    return [this, done, acquired, tail_at = view.tail_at] {
      tail_at_ = tail_at;
      done({}, acquired);
    };
  });
}

void FakeStore::Append(Revision fence, std::uint64_t seq, const std::string& bytes,
                       std::uint64_t oldest, Done done) {
  ++link_.appends;
  Do([this, &shard = shard_, &link = link_, fence, seq, bytes, oldest, done,
      tail_at = tail_at_](Time) -> Answer {
    LogView& view = shard.view;
    const auto worked = [&]() -> Answer {
      return [this, done, at = view.tail_at] {
        tail_at_ = at;
        done({});
      };
    };
    if (link.appends_wait) return nullptr;
    if (view.leader_at != fence) return [done] { done({StoreAnswer::kFenced, {}}); };
    if (view.tail_at == tail_at) {
      if (shard.full) return [done] { done({StoreAnswer::kFull, {Code::kJournal, "full"}}); };
      view.tail_at = shard.Begin();
      view.last = seq;
      view.oldest = oldest;
      shard.parts[seq] = bytes;
      shard.written[seq] = view.tail_at;
      shard.NotePart({seq, bytes});
      return worked();
    }
    const auto part = shard.parts.find(seq);
    if (part != shard.parts.end() && part->second == bytes) return worked();
    return [done] { done({StoreAnswer::kFailed, {Code::kCorrupt, "foreign writer"}}); };
  });
}

void FakeStore::Beat(Revision fence, std::uint64_t /*epoch*/,
                     std::function<void(StoreResult, Time sent)> done) {
  Do([&shard = shard_, fence, done](Time sent) -> Answer {
    LogView& view = shard.view;
    if (view.leader_at != fence) return [done] { done({StoreAnswer::kFenced, {}}, 0); };
    if (!shard.full || view.beat_at != 0) {
      const Revision at = shard.Begin();
      view.beat_at = shard.full ? 0 : at;
      shard.NoteBeat();
    }
    return [done, sent] { done({}, sent); };
  });
}

void FakeStore::Release(Revision fence, const Reign& reign, Done done) {
  Do([&shard = shard_, fence, reign, done](Time) -> Answer {
    LogView& view = shard.view;
    if (view.leader_at == fence && !shard.full) {
      view.leader_at = shard.Begin();
      view.leader = reign;
      view.leader.vacant = true;
      shard.NoteReign(view.leader);
    }
    return [done] { done({}); };
  });
}

void FakeStore::Trim(Revision fence, std::uint64_t below,
                     std::function<void(StoreResult, bool more)> done) {
  Do([&shard = shard_, fence, below, done](Time) -> Answer {
    if (shard.view.leader_at != fence) return [done] { done({StoreAnswer::kFenced, {}}, false); };
    constexpr int kSlice = 3;
    for (int n = 0; n < kSlice && !shard.parts.empty(); ++n) {
      if (shard.parts.begin()->first >= below) break;
      shard.parts.erase(shard.parts.begin());
    }
    const bool more = !shard.parts.empty() && shard.parts.begin()->first < below;
    // As in etcd: at the revision of the trim before.
    if (!more) shard.compacted = std::exchange(shard.trimmed_at, shard.view.at);
    return [done, more] { done({}, more); };
  });
}

void FakeStore::Read(std::uint64_t from, std::uint64_t count, Revision at,
                     std::function<void(StoreResult, std::vector<LogPart>)> done) {
  ++link_.reads;
  Do([&shard = shard_, forced = link_.read, from, count, at, done](Time) -> Answer {
    if (!forced.done()) return [done, forced] { done(forced, {}); };
    std::vector<LogPart> page;
    for (auto part = shard.parts.lower_bound(from);
         part != shard.parts.end() && page.size() < count; ++part) {
      if (shard.written[part->first] > at) break;
      page.push_back({part->first, part->second});
    }
    const bool trimmed = from < shard.view.oldest || at < shard.compacted;
    return [done, page, trimmed] {
      trimmed ? done({StoreAnswer::kTrimmed, {}}, {}) : done({}, page);
    };
  });
}

void FakeStore::Fetch(
    Revision fence, const std::vector<PartPiece>& pieces,
    const std::function<void(StoreResult, const std::vector<std::string>&)>& done) {
  ++link_.fetches;
  Do([&shard = shard_, fence, pieces, done](Time) -> Answer {
    if (fence != 0 && shard.view.leader_at != fence) {
      return [done] { done({StoreAnswer::kFenced, {}}, {}); };
    }
    std::vector<std::string> read;
    for (const PartPiece& piece : pieces) {
      const auto unreadable = shard.unreadable.find(piece.seq);
      if (unreadable != shard.unreadable.end()) {
        const Status why(unreadable->second, "it cannot be read");
        return [done, why] { done({StoreAnswer::kFailed, why}, {}); };
      }
      const auto part = shard.parts.find(piece.seq);
      const bool there = part != shard.parts.end() && piece.offset <= part->second.size();
      read.push_back(there ? part->second.substr(piece.offset, piece.size) : "");
    }
    return [done, read] { done({}, read); };
  });
}

void FakeStore::Follow(Revision from, LogWatcher& watcher) {
  const std::uint64_t watch = ++watch_;
  if (from < shard_.compacted) {
    simulation_.After(Delay(), [this, alive = alive_, watch, &watcher] {
      if (!*alive || watch != watch_) return;
      link_.deliver([this, alive, watch, &watcher] {
        if (*alive && watch == watch_) watcher.OnWatchEnd({StoreAnswer::kTrimmed, {}});
      });
    });
    return;
  }
  const auto begin = std::find_if(shard_.history.begin(), shard_.history.end(),
                                  [&](const FakeShard::Event& each) { return each.at >= from; });
  Tell(watch, static_cast<std::size_t>(begin - shard_.history.begin()), watcher);
}

// Tells what happened since, and looks again a little later.
void FakeStore::Tell(std::uint64_t watch, std::size_t next, LogWatcher& watcher) {
  const Time late = Delay() + 2 * kMillisecond + link_.watch_late;
  simulation_.After(late, [this, alive = alive_, watch, next, &watcher] {
    if (!*alive || watch != watch_) return;
    if (const auto ended = std::exchange(link_.watch_end, std::nullopt)) {
      return link_.deliver([&watcher, result = *ended] { watcher.OnWatchEnd(result); });
    }
    const std::size_t end = link_.cut ? next : shard_.history.size();
    std::vector<FakeShard::Event> events(shard_.history.begin() + static_cast<std::ptrdiff_t>(next),
                                         shard_.history.begin() + static_cast<std::ptrdiff_t>(end));
    if (events.empty()) return Tell(watch, end, watcher);
    link_.deliver([this, alive, watch, events, &watcher] {
      for (const FakeShard::Event& event : events) {
        if (!*alive || watch != watch_) return;
        if (event.kind == FakeShard::Event::Kind::kPart) watcher.OnPart(event.part);
        if (event.kind == FakeShard::Event::Kind::kReign) watcher.OnReign(event.reign, event.at);
        if (event.kind == FakeShard::Event::Kind::kBeat) watcher.OnBeat(event.beat, event.at);
        if (*alive && watch == watch_) watcher.OnSeen(event.at);
      }
    });
    // What came may have ended the broker.
    if (*alive) Tell(watch, end, watcher);
  });
}

}  // namespace gearstalk
