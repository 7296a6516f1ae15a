#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// Numbers as stored formats have them: little-endian, at any address, or as varints, 7 bits a byte.
namespace gearstalk {

static_assert(std::endian::native == std::endian::little, "stored numbers are little-endian");

template <typename T>
void Store(char* out, T value) {
  std::memcpy(out, &value, sizeof value);
}

// `bytes` has sizeof(T) behind `at`.
template <typename T>
T Load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

inline void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Takes a varint from the front; false if there is none.
inline bool TakeVarint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

}  // namespace gearstalk
