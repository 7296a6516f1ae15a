#include "admin/api/id_set.h"

namespace gearstalk::api {
namespace {

constexpr char kGaps = 'g', kBits = 'b';

void AppendNumber(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7U) bytes += static_cast<char>(0x80U | (number & 0x7FU));
  bytes += static_cast<char>(number);
}

std::optional<std::uint64_t> TakeNumber(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 63 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

}  // namespace

void IdSet::Add(const std::vector<std::uint64_t>& ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
}

void IdSet::DropUpTo(std::uint64_t id) {
  ids_.erase(ids_.begin(), std::upper_bound(ids_.begin(), ids_.end(), id));
}

std::string IdSet::Encode() const {
  if (ids_.empty()) return {};
  std::string gaps(1, kGaps);
  std::uint64_t last = 0;
  for (const std::uint64_t id : ids_) {
    AppendNumber(gaps, id - last);
    last = id;
  }
  const std::uint64_t size = (ids_.back() - ids_.front()) / 8 + 1;
  if (size + 10 >= gaps.size()) return gaps;
  std::string bits(1, kBits);
  AppendNumber(bits, ids_.front());
  const std::size_t head = bits.size();
  bits.resize(head + size);
  for (const std::uint64_t id : ids_) {
    const std::uint64_t place = id - ids_.front();
    char& byte = bits[head + place / 8];
    byte = static_cast<char>(static_cast<unsigned char>(byte) | 1U << place % 8);
  }
  return bits;
}

std::optional<IdSet> IdSet::Decode(std::string_view bytes) {
  IdSet set;
  if (bytes.empty()) return set;
  const char form = bytes.front();
  bytes.remove_prefix(1);
  if (form == kBits) {
    const auto first = TakeNumber(bytes);
    if (!first || *first == 0) return std::nullopt;
    for (std::size_t place = 0; place < 8 * bytes.size(); ++place) {
      const auto byte = static_cast<unsigned char>(bytes[place / 8]);
      if ((byte >> place % 8 & 1U) != 0) set.ids_.push_back(*first + place);
    }
    return set;
  }
  if (form != kGaps) return std::nullopt;
  std::uint64_t last = 0;
  while (!bytes.empty()) {
    const auto gap = TakeNumber(bytes);
    if (!gap || *gap == 0 || last + *gap < last) return std::nullopt;
    last += *gap;
    set.ids_.push_back(last);
  }
  return set;
}

}  // namespace gearstalk::api
