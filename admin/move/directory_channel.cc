// A data directory in which no broker runs: the tool opens the journal itself, and the broker's
// side of the transfer protocol runs here, on an engine of its own.

#include <array>
#include <filesystem>

#include "admin/move/channel.h"
#include "admin/move/session/session.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/binlog/lock.h"
#include "broker/engine/engine.h"
#include "broker/journal/journal.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_journal.h"

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

class DirectoryChannel final : public Channel {
 public:
  DirectoryChannel(std::string directory, Bodies bodies, binlog::Lock lock,
                   std::unique_ptr<WalJournal> journal)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        journal_(std::move(journal)),
        engine_({.keep_bodies = bodies == Bodies::kInMemory}, *journal_),
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
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(directory_, error)) {
      SystemFileSystem().GiveToOwnerOf(directory_, file.path());
    }
  }

  const std::string directory_;
  binlog::Lock lock_;
  std::unique_ptr<WalJournal> journal_;
  Engine engine_;
  transfer::TransferProtocol protocol_;
  LocalWire wire_;
  ActiveAtOnce events_{engine_, wire_};
  std::unique_ptr<Session> session_;
};

}  // namespace

Result<std::unique_ptr<Channel>> OpenDirectory(const std::string& directory, Bodies bodies) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Status(Code::kIo, directory + ": " + error.message());
  // The lock tells which program runs there; a broker's lock does not mean that the source is in
  // use.
  Result<binlog::Lock> lock = binlog::Lock::Hold(directory);
  if (!lock.ok()) return Status(Code::kIo, lock.status().message());
  WalOptions options;
  options.directory = directory;
  options.own_thread = false;
  options.compact = bodies == Bodies::kInMemory;
  Result<std::unique_ptr<WalJournal>> journal = WalJournal::Open(std::move(options));
  if (!journal.ok()) return Status(Code::kIo, journal.status().message());
  auto channel = std::make_unique<DirectoryChannel>(directory, bodies, std::move(lock.value()),
                                                    std::move(journal.value()));
  if (Status status = channel->Start(); !status.ok()) {
    return Status(Code::kIo, status.message());
  }
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace gearstalk::ctl
