#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/journal/byte_buffer.h"
#include "broker/journal/record.h"

namespace gearstalk {

namespace stored {
class Record;
}

// kCorrupt for values that no broker writes and the engine could not apply.
Status CheckSense(const Record& record);

// Encodes and decodes records, without the body, which is stored behind them unchanged. Nothing
// else knows protobuf. Reuses one message, so that neither direction allocates for names of known
// length; one thread at a time.
class RecordCodec {
 public:
  RecordCodec();
  ~RecordCodec();

  // Appends the stored bytes of `record` to `out` and returns how many they are.
  std::size_t Encode(const Record& record, ByteBuffer& out);

  // The views of `record` lie in the codec, until its next call, and in `body`. kCorrupt for bytes
  // that are no record or one that no broker writes, kInvalid for kinds, states and fields that
  // this version does not know.
  Status Decode(std::string_view bytes, std::string_view body, Record& record);

 private:
  std::unique_ptr<stored::Record> message_;
  std::vector<std::string_view> policy_;
};

}  // namespace gearstalk
