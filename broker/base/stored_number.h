#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

// Numbers as the formats of the journal store them: little-endian, at any address.
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

}  // namespace gearstalk
