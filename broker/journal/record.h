#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk {

// The most unfinished jobs of a tube at which it takes one of high, normal or low priority;
// 0 = no limit.
using MaxQueue = std::array<std::int64_t, 3>;

// The settings of a tube by administrators and clients, which outlive a restart. Copied as a whole
// between the tube and its record: a new field needs a number in record.proto, a row in
// record_codec.cc and one in admin/move/sources/json_lines.cc.
struct TubeSettings {
  bool created_function = false;  // made by `create function`
  MaxQueue max_queue{};
  Time pause_until = 0;       // 0 = not paused
  std::uint32_t pause_s = 0;  // length of the pause as asked for

  friend bool operator==(const TubeSettings&, const TubeSettings&) = default;
};

// What a body that is its job's unique key is known by where the body is not there: XXH3-128 with
// seed 1, most significant byte first.
using BodyHash = std::array<char, 16>;

BodyHash HashOfBody(std::string_view body);

inline std::string_view View(const BodyHash& hash) { return {hash.data(), hash.size()}; }

// A body of fewer bytes is not worth leaving out of a record.
inline constexpr std::uint32_t kLeastLeftOut = 128;

// One change, as the engine hands it to the journal and gets it back from a replay. Plain values;
// the journal turns them into its stored form. Views are valid during the call only.
//
// What replay needs is in every record: replaying the records in order through the engine's apply
// functions gives the state at the end of the log, with reserved jobs ready again.
struct Record {
  enum class Kind : std::uint8_t {
    kPut = 1,       // a job, whole; also written when a live job is carried forward
    kChange = 2,    // state, priority, delay, due, counters and failure of a known job; with a
                    // tube: the job is in that tube now
    kDelete = 3,    // a job is gone
    kTube = 4,      // settings of a tube, all of them: tube, settings, policy
    kNextId = 5,    // ids below `id` are taken, also where no record names them
    kSchedule = 6,  // what is known of a schedule: `schedule`, with `id` of the last job it made
    kSeen = 7,   // jobs with `put_key` are duplicates in `tube` until `seen_until`; `id`: the job
                 // that had the key
    kMark = 8,   // how far a transfer is: transfer.name, transfer.mark
    kCount = 9,  // only the counters of a known job changed
    kEnd = 10,   // the log ends here in order; ids below `id` are taken
  };
  // Stored states; a reserved job is stored as ready.
  enum class State : std::uint8_t { kReady = 1, kDelayed = 2, kBuried = 3 };
  // How the last run of a job that went badly ended.
  enum class Cause : std::uint8_t {
    kNone = 0,
    kFailed = 1,
    kException = 2,
    kTimeout = 3,
    kLost = 4,
    kReleased = 5,
    kBuried = 6,
    kExpired = 7,
  };
  enum class Held : std::uint8_t { kNot = 0, kFirstPhase = 1, kSecondPhase = 2 };

  struct Counters {
    std::uint32_t reserves = 0, timeouts = 0, releases = 0, buries = 0, kicks = 0;
    std::uint32_t lost_tries = 0;
    bool operator==(const Counters&) const = default;
  };
  struct Failure {
    std::uint32_t attempts = 0;        // that count against the limit of the tube's policy
    bool waits = false;                // kDelayed: the delay is that before the next attempt
    Cause cause = Cause::kNone;        // of the last bad end
    std::string_view cause_text = {};  // of an exception
    std::string_view origin = {};      // the tube that a dead job came from
    Time ended = 0;                    // of a buried or dead job: when it failed; 0 = not known
  };
  struct Schedule {
    std::string_view name = {};  // kPut: of the schedule that made the job
    // kPut: the time it was made for, 0 if an operator asked for it; kSchedule: the last time that
    // was run, skipped or missed.
    Time planned = 0;
    std::uint64_t runs = 0, skipped = 0, missed = 0;
    bool off = false;
    // kSchedule: the last planned time of a job; nothing: an earlier version wrote the record.
    std::optional<Time> ran = std::nullopt;
    bool left_out = false;  // kSchedule: its last planned time was skipped or missed
  };
  // Of a job in a tube with groups.
  struct Group {
    std::string_view name = {};    // empty: it has none
    std::string_view source = {};  // where it was found: the value of the policy's `group`
  };
  struct Transfer {
    std::string_view name = {};   // of the transfer that brought the job
    Held held = Held::kNot;       // stored, and in no queue
    std::uint64_t source_id = 0;  // of the job where it came from
    std::string_view mark = {};   // the serialized Mark of the transfer after this record
    bool settled = false;         // held jobs are committed, or the transfer is forgotten
  };

  Kind kind = Kind::kPut;
  State state = State::kReady;
  bool keep_on_failure = false;  // put by beanstalk: a failure buries it
  bool unique_is_body = false;   // Gearman's "-": the body is the key
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::uint32_t ttr_s = 0;    // 0: none
  std::uint32_t delay_s = 0;  // as asked for by the put or the last release
  Time due = 0;               // kDelayed: when it gets ready
  Time created = 0;
  std::uint64_t burial = 0;  // kBuried: order of burial; rises
  Counters counters = {};
  std::string_view tube = {};
  std::string_view unique = {};
  std::string_view reducer = {};
  std::string_view body = {};  // without the CRLF that beanstalk adds
  // The length of a body that is in the journal alone, which adds it to what is captured; 0: `body`
  // is the whole one. Not stored. A replay leaves out none below kLeastLeftOut.
  std::uint32_t body_left_out = 0;
  TubeSettings settings = {};  // kTube

  // Not used by most records.
  Failure failure = {};
  Time expires = 0;     // not handed out from then on; 0 = never
  Time seen_until = 0;  // kSeen
  // kSeen: a hash of the key; kPut: HashOfBody of a body that is the key, if it is left out.
  std::string_view put_key = {};
  std::span<const std::string_view> policy = {};  // kTube: "KEY=VALUE", as set by an administrator
  Schedule schedule = {};
  Transfer transfer = {};
  Group group = {};  // kPut, and kChange with a tube
  Group home = {};   // the same of a dead job, in the tube that it came from
};

// Whether a replay may leave out the body: it is worth it, and a start does not need the bytes. A
// held job is kept whole, because its record is carried forward from memory.
inline bool IsLeftOut(const Record& record) {
  return record.kind == Record::Kind::kPut && record.body.size() >= kLeastLeftOut &&
         record.transfer.held == Record::Held::kNot;
}

// Ids below `id` are taken.
inline Record NextIdRecord(std::uint64_t id) { return {.kind = Record::Kind::kNextId, .id = id}; }

// A record that owns its text, in one allocation.
class OwnedRecord {
 public:
  explicit OwnedRecord(const Record& record);
  OwnedRecord(const OwnedRecord& other) : OwnedRecord(other.record_) {}
  OwnedRecord(OwnedRecord&&) = default;
  OwnedRecord& operator=(const OwnedRecord&) = delete;
  OwnedRecord& operator=(OwnedRecord&&) = default;

  // Its views hold as long as this object, also when it is moved.
  const Record& View() const { return record_; }
  // Bytes of its text.
  std::size_t text_size() const { return size_; }
  void SetPhase(Record::Held phase) { record_.transfer.held = phase; }
  // Of a record whose body was left out.
  void SetBody(std::string_view body);

 private:
  Record record_;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> text_;
  std::vector<std::string_view> policy_;
};

}  // namespace gearstalk
