#pragma once

#include <cstdint>
#include <string_view>

#include "broker/base/clock.h"

// One file of beanstalkd's log, versions 7 (beanstalkd 1.5 to 1.13) and 5 (1.4). Pure: bytes in,
// records out. Little-endian hosts and files only.
namespace gearstalk::binlog {

enum class State : std::uint8_t { kGone = 0, kReady = 1, kReserved = 2, kBuried = 3, kDelayed = 4 };

// How often what was done with a job, as the log has it.
struct Counters {
  std::uint32_t reserves = 0, timeouts = 0, releases = 0, buries = 0, kicks = 0;
};

// A record of a job: the values of now, and for a full record also its tube and body.
struct Record {
  bool full = false;
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  Time delay = 0, ttr = 0;  // durations in nanoseconds
  Time created = 0;         // nanoseconds since 1970
  Time deadline = 0;        // the same; when a delayed job gets ready
  Counters counters;
  State state = State::kGone;
  std::string_view tube;  // full only
  std::string_view body;  // full only, without the CRLF
};

// What ended or disturbed the reading of a file.
struct Finding {
  enum class Kind : std::uint8_t {
    kNone,
    kCrash,       // a record whose bytes are zero from some point to the end of the file
    kZeroFile,    // zeros only
    kUnfinished,  // a put whose body does not end in CRLF: it was never acknowledged
    kDamage,      // what no crash leaves
    kForeign,     // unknown version or byte order: nothing of the file counts
  };
  Kind kind = Kind::kNone;
  std::uint64_t offset = 0;
  std::uint64_t job = 0;     // kUnfinished
  const char* problem = "";  // kDamage, kForeign
  std::uint64_t value = 0;   // the number that `problem` is about
};

class FileReader {
 public:
  explicit FileReader(std::string_view bytes);

  // The version at the start of the file. Call once, before Next.
  Finding ReadVersion();

  enum class Step : std::uint8_t {
    kRecord,   // `record` is filled
    kSkipped,  // `finding` says why; the reading goes on
    kEnd,      // `finding` says whether something ended it early
  };
  Step Next(Record& record, Finding& finding);

  std::uint64_t offset() const { return at_; }

 private:
  struct Layout;
  static const Layout kVersion7, kVersion5;

  Step Stop(Finding& finding, Finding::Kind kind, const char* problem = "",
            std::uint64_t value = 0) const;
  Step ReadBody(Record& record, Finding& finding, std::uint64_t name, std::uint64_t size);
  Time LoadTime(std::uint64_t offset) const;
  void LoadValues(std::uint64_t fixed, Record& record) const;

  std::string_view bytes_;
  std::uint64_t zeros_ = 0;  // from here to the end of the file there are only zeros
  std::uint64_t at_ = 0;
  const Layout* layout_ = nullptr;
};

}  // namespace gearstalk::binlog
