#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/move/transfer_client.h"
#include "broker/base/status.h"
#include "broker/journal/record.h"

namespace gearstalk::ctl {

struct Note {
  std::string kind{};  // crash, damage, guess, hint
  std::string where{};
  std::string text{};
};

// Options of a source besides its name.
struct SourceOptions {
  bool accept_damage = false;
  std::string table, charset = "utf8mb4", prefix = "_gear_";
  std::vector<std::string> functions{};
};

// A job of a source. Views hold during the call that gets it.
struct SourceJob {
  Record job;
  std::string key{};      // by which reports name it
  std::string altered{};  // not empty: how it differs from what the source has
  std::string refused{};  // not empty: why it cannot be a job
};

// Why no client could name the job: fields of Gearman's packets end at a NUL. Empty: it can.
std::string_view NulIn(const Record& job);

// The fingerprint of a source that a finished transfer took out of use: it fits any mark.
inline constexpr std::string_view kRetired = "retired";

// What the first pass over a source found.
struct Survey {
  std::string fingerprint{};
  // What it was before an interrupted Retire; empty: there was none.
  std::string before_retire{};
  std::uint64_t smallest_id = 0;  // 0: the source has no ids
  std::uint64_t next_id = 0;
  std::uint64_t burials = 0;
  bool damaged = false;
  std::vector<Note> notes{};
  std::vector<OwnedRecord> tubes{};  // settings
};

// Where an import reads from. It is read twice, in the same order.
class Source {
 public:
  using Visit = std::function<Status(const SourceJob&)>;

  virtual ~Source() = default;
  // Before anything else: connects, where there is a server.
  virtual Status Open() { return {}; }
  // The first pass: all jobs, in the order of the source.
  virtual Status Read(Survey& survey, const Visit& visit) = 0;
  // The second pass; kInUse if it is not what the first one read.
  virtual Status ReadAgain(const Visit& visit) = 0;
  // Priorities of gearmand's classes in the target, before the second pass.
  virtual void SetClasses(const Classes& /*classes*/) {}
  // After success: takes the source out of use.
  virtual Status Retire() { return {Code::kInvalid, "--retire does not go with this source"}; }
  virtual bool CanRetire() const { return false; }
  // What a transfer from it is called, without passwords.
  virtual std::string Name() const = 0;
};

// Chooses the source by the scheme of `text`. kInvalid: unknown, or its module is missing.
Result<std::unique_ptr<Source>> OpenSource(const std::string& text, const SourceOptions& options);

using SourceMaker = Result<std::unique_ptr<Source>> (*)(const std::string& rest,
                                                        const SourceOptions& options);
Result<std::unique_ptr<Source>> OpenBinlog(const std::string& rest, const SourceOptions& options);
Result<std::unique_ptr<Source>> OpenJobsFile(const std::string& rest, const SourceOptions& options);
// What the module of a database is asked for.
extern "C" const SourceMaker gearstalk_open_source;

}  // namespace gearstalk::ctl
