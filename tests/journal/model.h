#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "broker/journal/journal.h"

namespace gearstalk {

// A small live state: what an engine would know of its jobs and tubes, in maps. Every verb changes
// it first and appends the record then, as the engine does.
class Model final : public LiveState {
 public:
  struct Job {
    std::string tube, unique, reducer, body;
    Record::State state = Record::State::kReady;
    bool keep_on_failure = false, unique_is_body = false;
    std::uint32_t priority = 0, ttr_s = 0, delay_s = 0;
    Time due = 0, created = 0;
    std::uint64_t burial = 0;
    std::array<std::uint32_t, 6> counters{};
    bool operator==(const Job&) const = default;
  };
  using Tube = TubeSettings;
  struct State {
    std::map<std::uint64_t, Job> jobs;
    std::map<std::string, Tube> tubes;  // those with settings
    std::uint64_t next_id = 1;
    bool operator==(const State&) const = default;
  };

  Lsn Put(Journal& journal, std::string_view tube, std::string body);
  Lsn Put(Journal& journal, Job job);
  // Releases with a delay, and counts it.
  Lsn Release(Journal& journal, std::uint64_t id, std::uint32_t delay_s, Time due);
  Lsn Bury(Journal& journal, std::uint64_t id, std::uint64_t burial);
  Lsn Delete(Journal& journal, std::uint64_t id);
  Lsn Set(Journal& journal, const std::string& tube, const Tube& settings);
  // An id that no record names.
  Lsn TakeId(Journal& journal);

  const State& state() const { return state_; }
  void Clear() { state_ = {}; }

  Status Apply(const Record& record) override;
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override;
  void CaptureSettings(const std::function<void(const Record&)>& emit) override;

 private:
  static Record RecordOf(std::uint64_t id, const Job& job, Record::Kind kind);
  static Record RecordOf(const std::string& name, const Tube& tube);

  State state_;
};

}  // namespace gearstalk
