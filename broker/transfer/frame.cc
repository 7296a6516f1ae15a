#include "broker/transfer/frame.h"

#include <cstring>

namespace gearstalk::transfer {

Cut TakeFrame(std::string_view& bytes, Frame& frame, std::size_t& need) {
  need = kFrameHead;
  if (bytes.size() < 4) return Cut::kMore;
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size < 2 || size > kLongestFrame) return Cut::kBad;
  need = 4 + std::size_t{size};
  if (bytes.size() < need) return Cut::kMore;
  frame.type = static_cast<Type>(bytes[4]);
  std::string_view rest = bytes.substr(kFrameHead, size - 1);
  std::uint64_t fields = 0;
  if (!TakeVarint(rest, fields) || fields > rest.size()) return Cut::kBad;
  frame.fields = rest.substr(0, fields);
  frame.body = rest.substr(fields);
  bytes.remove_prefix(need);
  return Cut::kWhole;
}

void AppendHead(std::string& out, Type type, std::string_view fields, std::size_t body_size) {
  std::string length;
  AppendVarint(length, fields.size());
  const auto size = static_cast<std::uint32_t>(1 + length.size() + fields.size() + body_size);
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.push_back(static_cast<char>(type));
  out += length;
  out += fields;
}

}  // namespace gearstalk::transfer
