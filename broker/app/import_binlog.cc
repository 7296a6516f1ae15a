#include "broker/app/import_binlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "broker/base/log.h"
#include "broker/binlog/directory.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kJobsBetweenSyncs = 4096;

Status DamageIn(const binlog::Directory& log, const std::string& directory) {
  for (const binlog::Note& note : log.index().notes()) {
    if (!note.damage) continue;
    return {Code::kCorrupt,
            fmt::format("the log of beanstalkd in {} is damaged at {}: {}; import what can be read "
                        "with `gearstalkctl import binlog:{} --data-dir NEW --accept-damage`",
                        directory, note.Where(), note.text, directory)};
  }
  return {};
}

// A job of ours that is in the log, too; nullptr: none. An import keeps the time of creation, in
// nanoseconds.
const Job* FindTwin(const Engine& engine, const binlog::Directory& log) {
  using Timed = std::pair<Time, const binlog::Job*>;
  std::vector<Timed> by_time;
  const Job* ours = engine.NextJob(0);
  if (ours == nullptr) return nullptr;
  for (const binlog::Job& job : log.index().jobs()) by_time.emplace_back(job.created, &job);
  std::sort(by_time.begin(), by_time.end());
  for (; ours != nullptr; ours = engine.NextJob(ours->id())) {
    auto at = std::lower_bound(by_time.begin(), by_time.end(), Timed(ours->created, nullptr));
    for (; at != by_time.end() && at->first == ours->created; ++at) {
      const std::string_view body = log.BodyOf(*at->second);
      const bool equal = ours->has_body() ? body == ours->body() : body.size() == ours->body_size();
      const bool same = equal && log.index().tube(*at->second) == ours->tube().name();
      if (same) return ours;
    }
  }
  return nullptr;
}

// Beanstalkd went on with the log of a former import: the jobs of that import may be in the journal
// and in the log.
Status CheckFormer(const Engine& engine, const std::string& name, const std::string& directory,
                   const binlog::Directory& log) {
  if (const Job* twin = FindTwin(engine, log)) {
    return {
        Code::kInUse,
        fmt::format("the log of beanstalkd in {0} was imported before, and its jobs are still in "
                    "the journal, job {1} for one: move the journal ({0}/*.wal and {0}/state) to "
                    "another directory, then start again",
                    directory, twin->id())};
  }
  if (engine.transfers().Find(name) == nullptr) return {};
  return {Code::kInUse,
          fmt::format("{} was imported before, with another content; none of its jobs is in the "
                      "journal: `gearstalkctl transfers --data-dir {} --forget {}` lets it be "
                      "imported again",
                      name, directory, name)};
}

// Finds the transfer's mark, or makes it: with the old ids if none of them was given out here.
Result<const transfer::Mark*> Begin(Engine& engine, const std::string& name,
                                    const std::string& directory, const binlog::Directory& log) {
  Transfers& transfers = engine.transfers();
  if (const transfer::Mark* known = transfers.Find(name)) {
    if (known->fingerprint == log.fingerprint()) return known;
    const std::string before = binlog::FingerprintBeforeRetire(directory);
    if (known->finished && known->fingerprint == before) return known;
  }
  const binlog::JobIndex& index = log.index();
  std::string other;
  while (const transfer::Mark* mark = transfers.NextMark(other)) {
    if (index.jobs().empty() || mark->fingerprint != log.fingerprint()) continue;
    return Status(Code::kInUse,
                  fmt::format("{} has the content of {}, which was imported before: start with "
                              "--import-binlog no to leave it alone; `gearstalkctl transfers "
                              "--data-dir {} --forget {}` lets it be imported again",
                              name, other, directory, other));
  }
  GS_TRY(CheckFormer(engine, name, directory, log));
  const std::uint64_t smallest = index.jobs().empty() ? index.next_id() : index.jobs().front().id;
  const transfer::Mark mark{.kind = "import",
                            .fingerprint = log.fingerprint(),
                            .keep_ids = transfers.CanKeepIds(smallest, index.next_id())};
  std::uint64_t burials = 0;
  for (const binlog::Job& job : index.jobs()) burials = std::max(burials, job.burial);
  const Transfers::Change begun =
      transfers.Begin(name, mark, mark.keep_ids ? index.next_id() : 0, burials);
  if (!begun.ok()) return Status(Code::kJournal, "the journal takes no jobs");
  return transfers.Find(name);
}

Status PutAll(Transfers& transfers, const std::string& name, const transfer::Mark& mark,
              const binlog::Directory& log, Time now, const std::function<Status()>& sync) {
  transfers.Use();
  std::uint64_t place = 0;
  for (const binlog::Job& job : log.index().jobs()) {
    if (++place <= mark.settled) continue;
    Record record = log.RecordOf(job);
    if (!mark.keep_ids) record.id = 0;
    const Transfers::Change put =
        transfers.Put(now, name, record, std::to_string(job.id), {.settled = place});
    if (!put.ok()) {
      return {put.code, fmt::format("job {} of the log of beanstalkd cannot be taken: the memory "
                                    "limit is reached or the journal is full",
                                    job.id)};
    }
    if (place % kJobsBetweenSyncs != 0) continue;
    GS_TRY(sync());
    log.ForgetBodies();
  }
  if (!transfers.Advance(name, {.finished = true}).ok()) {
    return {Code::kJournal, "the journal takes no jobs"};
  }
  transfers.Release();
  return sync();
}

}  // namespace

Result<bool> HasBinlogToImport(const Config& config) {
  const Result<std::vector<binlog::NumberedFile>> files = binlog::FindFiles(config.data_dir);
  if (!files.ok() || files.value().empty()) return false;
  if (config.import_binlog != Config::ImportBinlog::kRefuse) {
    return config.import_binlog == Config::ImportBinlog::kYes;
  }
  return Status(
      Code::kInvalid,
      fmt::format("{} holds the log of a beanstalkd ({}): start with --import-binlog yes to "
                  "import its jobs, or with --import-binlog no to leave it alone",
                  config.data_dir, files.value().front().name));
}

Status ImportBinlog(Engine& engine, const std::string& directory, Time now,
                    const std::function<Status()>& sync) {
  const binlog::Directory log = GS_TRY(binlog::Directory::Read(directory, now));
  if (log.index().damaged()) return DamageIn(log, directory);
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(directory, error);
  const std::string name = "binlog:" + (error ? directory : path.string());
  const transfer::Mark* mark = GS_TRY(Begin(engine, name, directory, log));
  if (!mark->finished) GS_TRY(PutAll(engine.transfers(), name, *mark, log, now, sync));
  std::size_t ready = 0, delayed = 0, buried = 0;
  for (const binlog::Job& job : log.index().jobs()) {
    ++(job.state == binlog::State::kDelayed  ? delayed
       : job.state == binlog::State::kBuried ? buried
                                             : ready);
  }
  Log(LogLevel::kInfo,
      fmt::format("imported {} jobs of beanstalkd from {} ({} ready, {} delayed, {} buried)",
                  ready + delayed + buried, directory, ready, delayed, buried));
  return binlog::Retire(directory);
}

}  // namespace gearstalk
