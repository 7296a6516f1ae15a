#include "proto_gearman/packet.h"

#include <boost/endian/conversion.hpp>
#include <cstring>

namespace gearstalk::gearman {
namespace {

constexpr std::string_view kRequestMagic{"\0REQ", 4};
constexpr std::string_view kResponseMagic{"\0RES", 4};

std::uint32_t ReadBigEndian(const char* bytes) {
  return boost::endian::load_big_u32(reinterpret_cast<const unsigned char*>(bytes));
}

void WriteBigEndian(char* to, std::size_t value) {
  boost::endian::store_big_u32(reinterpret_cast<unsigned char*>(to),
                               static_cast<std::uint32_t>(value));
}

// Writes small packets in one piece, and the long parts of others one by one.
class Writer {
 public:
  Writer(Output& out, PacketType type, std::size_t written, std::size_t payload)
      : out_(out), small_(kHeaderSize + written <= Output::kMaxPrepare) {
    start_ = at_ = out.Prepare(kHeaderSize + (small_ ? written : 0));
    std::memcpy(at_, kResponseMagic.data(), kResponseMagic.size());
    WriteBigEndian(at_ + 4, static_cast<std::size_t>(type));
    WriteBigEndian(at_ + 8, payload);
    at_ += kHeaderSize;
    if (!small_) out.Commit(kHeaderSize);
  }

  void Write(std::string_view bytes) {
    if (!small_) {
      out_.Append(bytes);
    } else if (!bytes.empty()) {
      std::memcpy(at_, bytes.data(), bytes.size());
      at_ += bytes.size();
    }
  }

  void Finish() {
    if (small_) out_.Commit(static_cast<std::size_t>(at_ - start_));
  }

 private:
  Output& out_;
  const bool small_;
  char* start_ = nullptr;
  char* at_ = nullptr;
};

constexpr std::string_view kNul{"\0", 1};

}  // namespace

Parsed ParseHeader(std::string_view bytes, Header& header) {
  if (bytes.size() < kHeaderSize) {
    const std::string_view magic = bytes.substr(0, kRequestMagic.size());
    const bool may_become = kRequestMagic.starts_with(magic) || kResponseMagic.starts_with(magic);
    return may_become ? Parsed::kNeedMore : Parsed::kMalformed;
  }
  const std::uint32_t magic = ReadBigEndian(bytes.data());
  header.request = magic == ReadBigEndian(kRequestMagic.data());
  if (!header.request && magic != ReadBigEndian(kResponseMagic.data())) return Parsed::kMalformed;
  const std::uint32_t type = ReadBigEndian(bytes.data() + 4);
  if (type == 0 || type >= kPacketTypes) return Parsed::kMalformed;
  header.type = static_cast<PacketType>(type);
  header.size = ReadBigEndian(bytes.data() + 8);
  return Parsed::kComplete;
}

Parsed ParseArguments(std::string_view shown, std::uint32_t declared, const Shape& shape,
                      Arguments& arguments) {
  arguments = {};
  shown = shown.substr(0, declared);
  const std::string_view window = shown.substr(0, kMaxArgumentBytes);
  std::size_t at = 0;
  const int terminated = shape.data ? shape.arguments : shape.arguments - 1;
  for (int i = 0; i < terminated; ++i) {
    const std::size_t end = window.find('\0', at);
    const auto index = static_cast<std::size_t>(i);
    if (end == std::string_view::npos) {
      if (window.size() == kMaxArgumentBytes) return Parsed::kMalformed;
      if (shown.size() < declared) return Parsed::kNeedMore;
      if (!shape.lenient) return Parsed::kMalformed;
      arguments.at[index] = window.substr(at);
      arguments.size = declared;
      return Parsed::kComplete;
    }
    arguments.at[index] = window.substr(at, end - at);
    at = end + 1;
  }
  arguments.size = static_cast<std::uint32_t>(at);
  if (shape.data || shape.arguments == 0) return Parsed::kComplete;
  if (declared > kMaxArgumentBytes) return Parsed::kMalformed;
  if (shown.size() < declared) return Parsed::kNeedMore;
  arguments.at[static_cast<std::size_t>(terminated)] = shown.substr(at);
  arguments.size = declared;
  return Parsed::kComplete;
}

void AppendPacket(Output& out, PacketType type, std::initializer_list<std::string_view> parts) {
  std::size_t size = parts.size() == 0 ? 0 : parts.size() - 1;
  for (std::string_view part : parts) size += part.size();
  Writer writer(out, type, size, size);
  for (const std::string_view& part : parts) {
    if (&part != parts.begin()) writer.Write(kNul);
    writer.Write(part);
  }
  writer.Finish();
}

void AppendPacketBeforeData(Output& out, PacketType type,
                            std::initializer_list<std::string_view> parts, std::size_t data_size) {
  std::size_t size = parts.size();
  for (std::string_view part : parts) size += part.size();
  Writer writer(out, type, size, size + data_size);
  for (std::string_view part : parts) {
    writer.Write(part);
    writer.Write(kNul);
  }
  writer.Finish();
}

}  // namespace gearstalk::gearman
