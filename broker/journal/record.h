#pragma once

#include <cstdint>
#include <string_view>

#include "broker/base/clock.h"

namespace gearstalk {

// One change, as the engine hands it to the journal and gets it back from a replay. Plain values;
// the journal turns them into its stored form. Views are valid during the call only.
//
// What replay needs is in every record: replaying the records in order through the engine's apply
// functions gives the state at the end of the log, with reserved jobs ready again.
struct Record {
  enum class Kind : std::uint8_t {
    kPut = 1,     // a job, whole; also written when a live job is carried forward. Uses everything
                  // below but the settings.
    kChange = 2,  // state, priority, delay, due and counters of a known job
    kDelete = 3,  // a job is gone: id only
    kTube = 4,    // settings of a tube: tube, pause_until, created, max_queue
    kNextId = 5,  // ids below `id` are taken, also where no record names them
  };
  // Stored states; a reserved job is stored as ready.
  enum class State : std::uint8_t { kReady = 1, kDelayed = 2, kBuried = 3 };
  struct Counters {
    std::uint32_t reserves = 0, timeouts = 0, releases = 0, buries = 0, kicks = 0;
    std::uint32_t lost_tries = 0;
  };

  Kind kind = Kind::kPut;
  State state = State::kReady;
  bool keep_on_failure = false;   // put by beanstalk: a failure buries it
  bool unique_is_body = false;    // Gearman's "-": the body is the key
  bool created_function = false;  // kTube: made by `create function`
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::uint32_t ttr_s = 0;    // 0: none
  std::uint32_t delay_s = 0;  // as asked for by the put or the last release
  Time due = 0;               // kDelayed: when it gets ready
  Time created = 0;
  std::uint64_t burial = 0;  // kBuried: order of burial; rises
  Counters counters;
  std::string_view tube;
  std::string_view unique;
  std::string_view reducer;
  std::string_view body;                  // without the CRLF that beanstalk adds
  std::int64_t max_queue[3] = {0, 0, 0};  // kTube: high, normal, low; 0 = no limit
  Time pause_until = 0;                   // kTube: 0 = not paused
  std::uint32_t pause_s = 0;              // kTube: length of the pause as asked for
};

}  // namespace gearstalk
