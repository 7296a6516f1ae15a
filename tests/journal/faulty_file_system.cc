#include "tests/journal/faulty_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gearstalk {
namespace {

constexpr std::size_t kSector = 512;

}  // namespace

class FaultyFileSystem::OpenFile final : public File {
 public:
  OpenFile(FaultyFileSystem& disk, std::shared_ptr<Node> node)
      : disk_(disk), node_(std::move(node)), generation_(disk.generation_) {}

  ~OpenFile() override {
    const std::lock_guard lock(disk_.mutex_);
    if (locked_ && generation_ == disk_.generation_) node_->locked = false;
  }

  std::int64_t Read(std::uint64_t offset, char* data, std::size_t size) override {
    std::unique_lock lock(disk_.mutex_);
    if (const int error = Enter()) return error;
    ++disk_.reads_;
    disk_.let_go_.wait(lock, [this] { return !disk_.holds_reads_; });
    if (disk_.fail_reads_ > 0) {
      --disk_.fail_reads_;
      return disk_.fail_reads_error_;
    }
    const BadBytes& bad = disk_.bad_;
    if (node_ == bad.node && bad.error != 0 && offset < bad.to && offset + size > bad.from) {
      return bad.error;
    }
    const std::string& content = node_->content;
    if (offset >= content.size()) return 0;
    const std::size_t count =
        std::min<std::size_t>({size, content.size() - offset, disk_.read_limit_});
    std::copy_n(content.data() + offset, count, data);
    return static_cast<std::int64_t>(count);
  }

  std::int64_t Write(std::uint64_t offset, std::string_view data) override {
    const std::lock_guard lock(disk_.mutex_);
    const int error = Enter();
    const bool torn = error != 0 && disk_.calls_ == disk_.stop_at_ && disk_.torn_ > 0;
    if (error != 0 && !torn) return error;
    // The system looks for a signal that kills between pages, and a disk writes whole sectors.
    const bool in_sector = offset / kSector == (offset + data.size() - 1) / kSector;
    if (torn && in_sector && disk_.torn_ < data.size()) return error;
    if (disk_.full_) return -ENOSPC;
    std::size_t count = std::min(data.size(), torn ? disk_.torn_ : disk_.write_limit_);
    const std::uint64_t free = disk_.capacity_ - std::min(disk_.capacity_, disk_.Used());
    const std::uint64_t fits = node_->allocated + free;
    if (offset >= fits) return -ENOSPC;
    count = std::min<std::size_t>(count, fits - offset);
    disk_.written_bytes_ += count;
    Do({false, offset, std::string(data.substr(0, count))});
    return torn ? error : static_cast<std::int64_t>(count);
  }

  int Sync() override {
    const std::lock_guard lock(disk_.mutex_);
    ++disk_.syncs_;
    disk_.now_ += disk_.sync_takes_;
    if (const int error = Enter()) {
      // What was not written is forgotten, and a later sync does not bring it back.
      if (!disk_.Stopped()) node_->unsynced.clear();
      return error;
    }
    for (const Change& change : node_->unsynced) Apply(change, node_->synced);
    node_->unsynced.clear();
    disk_.synced_.notify_all();
    return 0;
  }

  int Allocate(std::uint64_t size) override {
    const std::lock_guard lock(disk_.mutex_);
    if (const int error = Enter()) return error;
    const std::uint64_t more = size > node_->allocated ? size - node_->allocated : 0;
    if (disk_.full_ || disk_.Used() + more > disk_.capacity_) return -ENOSPC;
    if (size > node_->content.size()) Do({true, size, {}});
    return 0;
  }

  int Truncate(std::uint64_t size) override {
    const std::lock_guard lock(disk_.mutex_);
    if (const int error = Enter()) return error;
    Do({true, size, {}});
    node_->allocated = size;
    return 0;
  }

  std::int64_t Size() override {
    const std::lock_guard lock(disk_.mutex_);
    if (const int error = Enter()) return error;
    return static_cast<std::int64_t>(node_->content.size());
  }

  int Lock() override {
    const std::lock_guard lock(disk_.mutex_);
    if (const int error = Enter()) return error;
    if (node_->locked) return -EWOULDBLOCK;
    node_->locked = locked_ = true;
    return 0;
  }

 private:
  int Enter() { return generation_ == disk_.generation_ ? disk_.Enter() : -EIO; }

  void Do(Change change) {
    Apply(change, node_->content);
    node_->allocated = std::max<std::uint64_t>(node_->allocated, node_->content.size());
    node_->unsynced.push_back(std::move(change));
  }

  FaultyFileSystem& disk_;
  const std::shared_ptr<Node> node_;
  const std::uint64_t generation_;
  bool locked_ = false;
};

class FaultyFileSystem::NamesOnDisk final : public Directory {
 public:
  explicit NamesOnDisk(FaultyFileSystem& disk) : disk_(disk), generation_(disk.generation_) {}

  int Sync() override {
    const std::lock_guard lock(disk_.mutex_);
    ++disk_.syncs_;
    if (generation_ != disk_.generation_) return -EIO;
    if (const int error = disk_.Enter()) return error;
    disk_.synced_names_ = disk_.names_;
    disk_.unsynced_names_.clear();
    return 0;
  }

 private:
  FaultyFileSystem& disk_;
  const std::uint64_t generation_;
};

FaultyFileSystem::FaultyFileSystem() = default;
FaultyFileSystem::~FaultyFileSystem() = default;

int FaultyFileSystem::Enter() {
  ++calls_;
  if (Stopped()) return -EIO;
  const bool fails = fail_at_ != 0 && calls_ >= fail_at_ && calls_ < fail_at_ + fail_times_;
  return fails ? -fail_error_ : 0;
}

int FaultyFileSystem::EnterOpen() {
  if (const int error = Enter()) return error;
  if (fail_opens_ == 0 || calls_ < fail_opens_at_) return 0;
  --fail_opens_;
  return -fail_opens_error_;
}

void FaultyFileSystem::FailOpens(std::uint64_t call, int error, std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  fail_opens_at_ = calls_ + call;
  fail_opens_error_ = error;
  fail_opens_ = times;
}

std::uint64_t FaultyFileSystem::Used() const {
  std::uint64_t used = 0;
  for (const auto& [name, node] : names_) used += node->allocated;
  return used;
}

void FaultyFileSystem::Apply(const Change& change, std::string& content) {
  if (change.truncates) {
    content.resize(change.offset);
    return;
  }
  const std::size_t end = change.offset + change.data.size();
  if (content.size() < end) content.resize(end);
  content.replace(change.offset, change.data.size(), change.data);
}

void FaultyFileSystem::Apply(const NameChange& change, Names_& names) {
  if (!change.removed.empty()) names.erase(change.removed);
  if (!change.added.empty()) names[change.added] = change.node;
}

void FaultyFileSystem::LoseSome(Node& node, std::mt19937& lot) const {
  for (const Change& change : node.unsynced) {
    if (change.truncates) {
      if (lot() % 2 == 0) Apply(change, node.synced);
      continue;
    }
    // Whole sectors arrive or do not.
    for (std::size_t at = 0; at < change.data.size();) {
      const std::size_t offset = change.offset + at;
      const std::size_t size = std::min(kSector - offset % kSector, change.data.size() - at);
      if (lot() % 2 == 0) Apply({false, offset, change.data.substr(at, size)}, node.synced);
      at += size;
    }
  }
}

void FaultyFileSystem::Restart(Loss loss, std::uint32_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937 lot(seed);
  ++generation_;
  stop_at_ = fail_at_ = 0;
  torn_ = 0;
  if (loss == Loss::kSome) {
    for (const NameChange& change : unsynced_names_) {
      if (lot() % 2 == 0) Apply(change, synced_names_);
    }
  }
  if (loss != Loss::kNone) names_ = synced_names_;
  for (auto& [name, node] : names_) {
    node->locked = false;
    if (loss == Loss::kNone) continue;
    if (loss == Loss::kSome) LoseSome(*node, lot);
    node->content = node->synced;
    node->unsynced.clear();
    node->allocated = node->content.size();
  }
  if (loss != Loss::kNone) unsynced_names_.clear();
}

FileSystem::Opened FaultyFileSystem::Open(const std::string& path, Mode mode) {
  const std::lock_guard lock(mutex_);
  if (const int error = EnterOpen()) return {nullptr, error};
  auto found = names_.find(path);
  if (found == names_.end()) {
    if (mode != Mode::kCreate) return {nullptr, -ENOENT};
    NameChange change{{}, path, std::make_shared<Node>()};
    Apply(change, names_);
    unsynced_names_.push_back(change);
    found = names_.find(path);
  }
  return {std::make_unique<OpenFile>(*this, found->second), 0};
}

int FaultyFileSystem::Rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (const int error = Enter()) return error;
  const auto found = names_.find(from);
  if (found == names_.end()) return -ENOENT;
  NameChange change{from, to, found->second};
  Apply(change, names_);
  unsynced_names_.push_back(std::move(change));
  return 0;
}

int FaultyFileSystem::Unlink(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const int error = Enter()) return error;
  if (!names_.contains(path)) return -ENOENT;
  NameChange change{path, {}, nullptr};
  Apply(change, names_);
  unsynced_names_.push_back(std::move(change));
  return 0;
}

int FaultyFileSystem::List(const std::string& directory, std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  if (const int error = Enter()) return error;
  if (!directories_.contains(directory)) return -ENOENT;
  names.clear();
  const std::string prefix = directory + "/";
  const auto add = [&](const std::string& path) {
    if (!path.starts_with(prefix)) return;
    const std::string rest = path.substr(prefix.size());
    if (rest.find('/') == std::string::npos) names.push_back(rest);
  };
  for (const auto& [path, node] : names_) add(path);
  for (const auto& [path, exists] : directories_) add(path);
  return 0;
}

int FaultyFileSystem::MakeDirectory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const int error = Enter()) return error;
  return directories_.emplace(path, true).second ? 0 : -EEXIST;
}

int FaultyFileSystem::RemoveDirectory(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const int error = Enter()) return error;
  for (const auto& [name, node] : names_) {
    if (name.starts_with(path + "/")) return -ENOTEMPTY;
  }
  return directories_.erase(path) > 0 ? 0 : -ENOENT;
}

FileSystem::OpenedDirectory FaultyFileSystem::OpenDirectory(const std::string& /*path*/) {
  const std::lock_guard lock(mutex_);
  if (const int error = EnterOpen()) return {nullptr, error};
  return {std::make_unique<NamesOnDisk>(*this), 0};
}

FileSystem::Space FaultyFileSystem::SpaceOf(const std::string& /*directory*/) {
  const std::lock_guard lock(mutex_);
  if (capacity_ == UINT64_MAX) return {};
  return {.free = capacity_ - std::min(capacity_, Used()), .total = capacity_};
}

bool FaultyFileSystem::CopiesOnWrite(const std::string& /*directory*/) { return copies_on_write_; }

void FaultyFileSystem::CopyOnWrite(bool full) {
  const std::lock_guard lock(mutex_);
  copies_on_write_ = true;
  full_ = full;
}

int FaultyFileSystem::GiveToOwnerOf(const std::string& /*directory*/, const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (const int error = Enter()) return error;
  given_.push_back(path);
  return 0;
}

std::vector<std::string> FaultyFileSystem::given() const {
  const std::lock_guard lock(mutex_);
  return given_;
}

Time FaultyFileSystem::Now() {
  const std::lock_guard lock(mutex_);
  return now_ += kMicrosecond;
}

void FaultyFileSystem::Advance(Time by) {
  const std::lock_guard lock(mutex_);
  now_ += by;
}

void FaultyFileSystem::SlowSyncs(Time by) {
  const std::lock_guard lock(mutex_);
  sync_takes_ = by;
}

std::uint64_t FaultyFileSystem::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::uint64_t FaultyFileSystem::syncs() const {
  const std::lock_guard lock(mutex_);
  return syncs_;
}

std::uint64_t FaultyFileSystem::written_bytes() const {
  const std::lock_guard lock(mutex_);
  return written_bytes_;
}

void FaultyFileSystem::WaitUntilSynced() {
  std::unique_lock lock(mutex_);
  synced_.wait(lock, [this] {
    return std::all_of(names_.begin(), names_.end(),
                       [](const auto& named) { return named.second->unsynced.empty(); });
  });
}

void FaultyFileSystem::FailAt(std::uint64_t call, int error, std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  fail_at_ = call;
  fail_error_ = error;
  fail_times_ = times;
}

void FaultyFileSystem::StopAt(std::uint64_t call, std::size_t torn) {
  const std::lock_guard lock(mutex_);
  stop_at_ = call;
  torn_ = torn;
}

bool FaultyFileSystem::stopped() const {
  const std::lock_guard lock(mutex_);
  return Stopped();
}

void FaultyFileSystem::FailReads(int error, std::uint64_t times) {
  const std::lock_guard lock(mutex_);
  fail_reads_error_ = error;
  fail_reads_ = times;
}

void FaultyFileSystem::FailReadsAt(const std::string& path, std::uint64_t from, std::uint64_t to,
                                   int error) {
  const std::lock_guard lock(mutex_);
  bad_ = {names_.at(path), from, to, error};
}

void FaultyFileSystem::LimitReads(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  read_limit_ = bytes;
}

void FaultyFileSystem::HoldReads() {
  const std::lock_guard lock(mutex_);
  holds_reads_ = true;
}

void FaultyFileSystem::LetReadsGo() {
  const std::lock_guard lock(mutex_);
  holds_reads_ = false;
  let_go_.notify_all();
}

std::uint64_t FaultyFileSystem::reads() const {
  const std::lock_guard lock(mutex_);
  return reads_;
}

void FaultyFileSystem::LimitWrites(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  write_limit_ = bytes;
}

void FaultyFileSystem::SetCapacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::uint64_t FaultyFileSystem::UsedBytes() const {
  const std::lock_guard lock(mutex_);
  return Used();
}

std::string FaultyFileSystem::Content(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(path);
  return found == names_.end() ? std::string() : found->second->content;
}

void FaultyFileSystem::SetContent(const std::string& path, std::string content) {
  const std::lock_guard lock(mutex_);
  // Whoever has the file open sees it, too.
  std::shared_ptr<Node>& node = names_[path];
  if (node == nullptr || synced_names_[path] != node) node = std::make_shared<Node>();
  node->allocated = content.size();
  node->content = node->synced = std::move(content);
  node->unsynced.clear();
  synced_names_[path] = node;
}

std::vector<std::string> FaultyFileSystem::Names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, node] : names_) names.push_back(name);
  return names;
}

std::map<std::string, std::string> FaultyFileSystem::Image() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> image;
  for (const auto& [name, node] : names_) image[name] = node->content;
  return image;
}

void FaultyFileSystem::SetImage(const std::map<std::string, std::string>& image) {
  {
    const std::lock_guard lock(mutex_);
    ++generation_;
    names_.clear();
    synced_names_.clear();
    unsynced_names_.clear();
    stop_at_ = fail_at_ = 0;
  }
  for (const auto& [name, content] : image) {
    SetContent(name, content);
    const std::lock_guard lock(mutex_);
    directories_[name.substr(0, name.find_last_of('/'))] = true;
  }
}

}  // namespace gearstalk
