// A data directory in which no broker runs: the tool opens the journal itself, and the broker's
// side of the transfer protocol runs here, on an engine of its own.

#include <array>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "admin/move/channel.h"
#include "admin/move/session/session.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/binlog/lock.h"
#include "broker/engine/engine.h"
#include "broker/journal/memory_journal.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/set_aside.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/journal/wal/wal_recovery.h"
#include "broker/journal/wal/wal_scan.h"

namespace gearstalk::ctl {
namespace {

class LocalWire final : public Wire {
 public:
  Output& out() override { return out_; }
  const Peer& peer() const override { return peer_; }
  Time Now() const override { return clock_.Now(); }
  void Resume() override {}
  void Refresh() { clock_.Refresh(); }

 private:
  Output out_;
  Peer peer_;
  SystemClock clock_;
};

// A journal of this process alone is active and serves as soon as it has started.
class ActiveAtOnce final : public NoEvents {
 public:
  ActiveAtOnce(Engine& engine, const LocalWire& wire) : engine_(engine), wire_(wire) {}
  void OnActive() override { engine_.records().BecomeActive(wire_.Now()); }

 private:
  Engine& engine_;
  const LocalWire& wire_;
};

// What a directory has, for an engine that only tells of it: nothing is written there. Damaged
// bodies stay damaged.
class ReadJournal final : public MemoryJournal {
 public:
  explicit ReadJournal(std::string directory) : directory_(std::move(directory)) {}

  Status Start(LiveState& state, JournalEvents& events) override {
    state_ = &state;
    GS_TRY(FindJournal(SystemFileSystem(), directory_));
    lock_ = GS_TRY(LockForReading(SystemFileSystem(), directory_));
    const auto aside = FindSetAside(SystemFileSystem(), directory_);
    WalRecovery recovery(SystemFileSystem(), directory_);
    GS_TRY(recovery.Run([&](const Record& record, std::size_t /*size*/) {
      const auto damaged = aside.find(record.id);
      const bool lost = record.kind == Record::Kind::kPut && record.body.empty();
      if (!lost || damaged == aside.end()) return state.Apply(record);
      Record without = record;
      without.body_left_out = damaged->second.body;
      return state.Apply(without);
    }));
    GS_TRY(state.Apply(NextIdRecord(recovery.kept_ids())));
    return MemoryJournal::Start(state, events);
  }
  bool KeepsBodies() const override { return true; }
  void Fetch(std::uint64_t id, BodyUse /*use*/) override { asked_.push_back(id); }
  void OnNotify() override {
    for (const std::uint64_t id : std::exchange(asked_, {})) {
      state_->OnBody(id, {BodyRead::Result::kDamaged, {}, "it was set aside"});
    }
  }

 private:
  const std::string directory_;
  std::unique_ptr<File> lock_;
  LiveState* state_ = nullptr;
  std::vector<std::uint64_t> asked_;
};

class DirectoryChannel final : public Channel {
 public:
  DirectoryChannel(std::string directory, Access access, std::optional<binlog::Lock> lock,
                   std::unique_ptr<Journal> journal)
      : directory_(std::move(directory)),
        access_(access),
        lock_(std::move(lock)),
        journal_(std::move(journal)),
        engine_({.keep_bodies = access == Access::kReadJobs}, *journal_),
        protocol_(engine_) {}

  ~DirectoryChannel() override { GiveFilesToOwner(); }

  Status Start() {
    GiveFilesToOwner();
    GS_TRY(journal_->Start(engine_.records(), events_));
    session_ = protocol_.NewSession(wire_);
    return {};
  }

  Status Write(std::string_view bytes) override {
    wire_.Refresh();
    for (;;) {
      const InputResult result = session_->OnInput(bytes, Session::Scope::kAll);
      bytes.remove_prefix(result.bytes);
      if (result.next == Next::kClose) return {Code::kIo, "the journal refuses to go on"};
      // A long answer is made as it is read.
      if (result.next != Next::kYield || bytes.empty()) return {};
    }
  }

  // Without a thread of its own, the journal is on disk when Flush returns.
  Status Read(std::string& bytes, int /*timeout_ms*/) override {
    for (;;) {
      journal_->Flush(wire_.Now());
      journal_->OnNotify();
      if (TakeDurable(bytes)) return {};
      Status health = journal_->Health();
      // What waits for a journal that takes nothing.
      if (!health.ok() && !wire_.out().empty()) return health;
      const InputResult result = session_->OnInput({}, Session::Scope::kAll);
      if (result.next == Next::kYield || !wire_.out().empty()) continue;
      return health.ok() ? Status(Code::kIo, "the journal does not answer") : health;
    }
  }

  Status Close() override {
    session_ = nullptr;
    Status closed = journal_->Close();
    GiveFilesToOwner();
    return closed;
  }

 private:
  // Whether there are answers whose changes are on disk. A full journal still gives those.
  bool TakeDurable(std::string& bytes) {
    std::array<iovec, 64> pieces{};
    wire_.out().Gather(pieces.data(), pieces.size(), journal_->Durable());
    std::size_t size = 0;
    for (const iovec& piece : pieces) {
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
      size += piece.iov_len;
    }
    wire_.out().Consume(size);
    return size > 0;
  }

  // The broker runs as the owner of the directory and must be able to use files that root wrote.
  void GiveFilesToOwner() const {
    if (access_ != Access::kChange) return;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(directory_, error)) {
      SystemFileSystem().GiveToOwnerOf(directory_, file.path());
    }
  }

  const std::string directory_;
  const Access access_;
  std::optional<binlog::Lock> lock_;
  std::unique_ptr<Journal> journal_;
  Engine engine_;
  transfer::TransferProtocol protocol_;
  LocalWire wire_;
  ActiveAtOnce events_{engine_, wire_};
  std::unique_ptr<Session> session_;
};

}  // namespace

Result<std::unique_ptr<Channel>> OpenDirectory(const std::string& directory, Access access) {
  const bool changes = access == Access::kChange;
  std::error_code error;
  if (changes) std::filesystem::create_directories(directory, error);
  if (error) return Status(Code::kIo, directory + ": " + error.message());
  // The lock tells which program runs there; a broker's lock does not mean that the source is in
  // use. To hold it makes its file, which whoever only reads does not.
  std::optional<binlog::Lock> lock;
  if (changes || std::filesystem::exists(directory + "/lock", error)) {
    Result<binlog::Lock> held = binlog::Lock::Hold(directory);
    if (!held.ok()) return Status(Code::kIo, held.status().message());
    lock = std::move(held.value());
  }
  std::unique_ptr<Journal> journal = std::make_unique<ReadJournal>(directory);
  if (changes) {
    WalOptions options;
    options.directory = directory;
    options.own_thread = false;
    options.compact = false;
    Result<std::unique_ptr<WalJournal>> opened = WalJournal::Open(std::move(options));
    if (!opened.ok()) return Status(Code::kIo, opened.status().message());
    journal = std::move(opened.value());
  }
  auto channel =
      std::make_unique<DirectoryChannel>(directory, access, std::move(lock), std::move(journal));
  if (Status status = channel->Start(); !status.ok()) {
    return Status(Code::kIo, status.message());
  }
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace gearstalk::ctl
