#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "broker/base/clock.h"

namespace gearstalk {

// Names of functions that no worker can do any more and whose tubes are gone: monitors of gearmand
// raise the alarm on their rows with no workers. The latest are kept, each for a day.
class IdleFunctions {
 public:
  static constexpr Time kKept = 24 * 3600 * kSecond;

  explicit IdleFunctions(std::size_t most) : most_(most) {}

  // At most `most` are kept; the oldest go. O(log n), as is all else.
  void SetMost(std::size_t most);
  void Add(Time now, std::string_view name);
  // False: it was not there.
  bool Remove(std::string_view name);
  // Drops what has been idle for a day.
  void Tick(Time now);

  struct Entry {
    std::string name;
    Time since;
  };
  // The next one in the order in which they became idle, and its number in `after`, 0 at first.
  const Entry* Next(std::uint64_t& after) const;
  std::size_t size() const { return by_age_.size(); }

 private:
  void DropOldest();

  std::size_t most_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Entry> by_age_;
  std::map<std::string_view, std::uint64_t> by_name_;  // views of the entries' names
};

}  // namespace gearstalk
