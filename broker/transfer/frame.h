#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/journal/record_codec.h"
#include "broker/transfer/fields.h"
#include "broker/transfer/messages.h"

namespace gearstalk::transfer {

// On the wire a message is a frame: 4 bytes, the little-endian length of what follows; 1 byte, the
// Type; the length of the fields (varint), the fields; for a job its body, up to the end.
struct Frame {
  Type type{};
  std::string_view fields;
  std::string_view body;
};

inline constexpr std::size_t kFrameHead = 5;
inline constexpr std::uint32_t kLongestFrame = (1U << 30) + (1U << 20);

enum class Cut : std::uint8_t { kWhole, kMore, kBad };
// Takes a frame from the front of `bytes`. `need` is the length of the whole frame where it is
// known.
Cut TakeFrame(std::string_view& bytes, Frame& frame, std::size_t& need);

// All of a frame but a body of `body_size` bytes.
void AppendHead(std::string& out, Type type, std::string_view fields, std::size_t body_size);

template <typename Message>
void AppendFrame(std::string& out, Type type, const Message& message, std::string_view body = {}) {
  std::string fields;
  AppendFields(message, fields);
  AppendHead(out, type, fields, body.size());
  out += body;
}
inline void AppendFrame(std::string& out, Type type) { AppendHead(out, type, {}, 0); }

// Frames with a record: a job, of the kind kPut, or the settings of a tube, kTube. In them a record
// is as in the journal, but for what only the journal knows. A job with the id 0 gets one from the
// broker.
class RecordFrames {
 public:
  // All of the frame but the body of the job. `item.record` is not used.
  void AppendHead(std::string& out, Type type, const Record& record, Item item = {});
  void Append(std::string& out, Type type, const Record& record, const Item& item = {});

  // The views lie in the frame, and in this object until its next call.
  Status Read(const Frame& frame, Record& record, Item& item);
  Status Read(const Frame& frame, Record& record);

 private:
  RecordCodec codec_;
  ByteBuffer bytes_;
};

}  // namespace gearstalk::transfer
