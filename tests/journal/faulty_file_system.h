#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "broker/journal/wal/file_system.h"

namespace gearstalk {

// A disk in memory that keeps apart what the system shows and what would survive a power cut. It
// counts every call, and can fail or stop at any of them. Locked: a writer thread may use it.
class FaultyFileSystem final : public FileSystem {
 public:
  // What becomes of unsynced content and names when the power goes.
  enum class Loss {
    kNone,  // the process died, the system did not
    kAll,   // only what was synced is there
    kSome,  // sectors and names by lot
  };

  FaultyFileSystem();
  ~FaultyFileSystem() override;

  // Calls so far; the first is number 1.
  std::uint64_t calls() const;
  std::uint64_t syncs() const;
  std::uint64_t written_bytes() const;
  // Until all content is on disk.
  void WaitUntilSynced();
  // Call number `call` fails with `error`; `times` calls from there on do.
  void FailAt(std::uint64_t call, int error, std::uint64_t times = 1);
  // After `call` more calls `times` opens fail with `error`, also those of directories.
  void FailOpens(std::uint64_t call, int error, std::uint64_t times);
  // From call `call` on nothing happens any more, as if the process were dead; if it is a write,
  // its first `torn` bytes are still done, unless all lie in one sector.
  void StopAt(std::uint64_t call, std::size_t torn = 0);
  // Whether that call has come.
  bool stopped() const;
  // The next `times` reads fail with `error`; no read does more than `bytes` bytes at once.
  void FailReads(int error, std::uint64_t times);
  // Reads of a byte there fail with `error`; 0: they do not any more.
  void FailReadsAt(const std::string& path, std::uint64_t from, std::uint64_t to, int error);
  void LimitReads(std::size_t bytes);
  // From now on reads wait until they are let go.
  void HoldReads();
  void LetReadsGo();
  std::uint64_t reads() const;
  // No write does more than this many bytes at once.
  void LimitWrites(std::size_t bytes);
  // How much fits on the disk.
  void SetCapacity(std::uint64_t bytes);
  // Every write takes new blocks, and there are some or none.
  void CopyOnWrite(bool full);
  std::uint64_t UsedBytes() const;
  // The machine comes up again: open files are gone, StopAt and FailAt are over.
  void Restart(Loss loss, std::uint32_t seed = 0);

  std::string Content(const std::string& path) const;
  void SetContent(const std::string& path, std::string content);
  std::vector<std::string> Names() const;
  // What was given to the owner of its directory, in order.
  std::vector<std::string> given() const;
  // A copy of all files as they are, and back.
  std::map<std::string, std::string> Image() const;
  void SetImage(const std::map<std::string, std::string>& image);

  Opened Open(const std::string& path, Mode mode) override;
  int Rename(const std::string& from, const std::string& to) override;
  int Unlink(const std::string& path) override;
  int List(const std::string& directory, std::vector<std::string>& names) override;
  int MakeDirectory(const std::string& path) override;
  int RemoveDirectory(const std::string& path) override;
  OpenedDirectory OpenDirectory(const std::string& path) override;
  Space SpaceOf(const std::string& directory) override;
  bool CopiesOnWrite(const std::string& directory) override;
  // Notes the path; see `given`.
  int GiveToOwnerOf(const std::string& directory, const std::string& path) override;
  // Every call of it is a microsecond later.
  Time Now() override;
  void Advance(Time by);
  // Each sync of a file takes so much longer.
  void SlowSyncs(Time by);

 private:
  struct Change {
    bool truncates = false;
    std::uint64_t offset = 0;  // of data, or the new size
    std::string data;
  };
  struct Node {
    std::string content;           // as the system shows it
    std::string synced;            // as it is on disk
    std::vector<Change> unsynced;  // what leads from one to the other
    std::uint64_t allocated = 0;
    bool locked = false;
  };
  using Names_ = std::map<std::string, std::shared_ptr<Node>>;
  struct NameChange {
    std::string removed;  // empty: none
    std::string added;    // empty: none
    std::shared_ptr<Node> node;
  };
  class OpenFile;
  class NamesOnDisk;

  // Counts a call. 0, or why it does not happen.
  int Enter();
  // 0, or why nothing is opened in this call.
  int EnterOpen();
  bool Stopped() const { return stop_at_ != 0 && calls_ >= stop_at_; }
  std::uint64_t Used() const;
  static void Apply(const Change& change, std::string& content);
  static void Apply(const NameChange& change, Names_& names);
  void LoseSome(Node& node, std::mt19937& lot) const;

  mutable std::mutex mutex_;
  std::condition_variable synced_, let_go_;
  bool holds_reads_ = false;
  Names_ names_, synced_names_;
  std::vector<NameChange> unsynced_names_;
  std::map<std::string, bool> directories_;
  std::uint64_t calls_ = 0, syncs_ = 0, written_bytes_ = 0;
  std::uint64_t fail_at_ = 0, fail_times_ = 0;
  int fail_error_ = 0;
  std::uint64_t fail_opens_at_ = 0, fail_opens_ = 0;
  int fail_opens_error_ = 0;
  std::uint64_t stop_at_ = 0;
  std::size_t torn_ = 0;
  std::size_t write_limit_ = SIZE_MAX;
  std::size_t read_limit_ = SIZE_MAX;
  std::uint64_t fail_reads_ = 0, reads_ = 0;
  int fail_reads_error_ = 0;
  struct BadBytes {
    std::shared_ptr<Node> node;
    std::uint64_t from = 0, to = 0;
    int error = 0;
  } bad_;
  std::uint64_t capacity_ = UINT64_MAX;
  bool copies_on_write_ = false, full_ = false;
  std::uint64_t generation_ = 0;
  std::vector<std::string> given_;
  Time now_ = 1, sync_takes_ = 0;
};

}  // namespace gearstalk
