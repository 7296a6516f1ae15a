#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk::api {

// Numbers in ascending order that fit into a cursor.
class IdSet {
 public:
  bool Has(std::uint64_t id) const { return std::binary_search(ids_.begin(), ids_.end(), id); }
  void Add(const std::vector<std::uint64_t>& ids);
  // Forgets those up to `id`.
  void DropUpTo(std::uint64_t id);

  // Uses the shorter of two forms: the gaps between numbers, or a bit for each number.
  std::string Encode() const;
  // Nothing: the bytes are not a set.
  static std::optional<IdSet> Decode(std::string_view bytes);

 private:
  std::vector<std::uint64_t> ids_;
};

}  // namespace gearstalk::api
