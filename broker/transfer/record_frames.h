#pragma once

#include <string>

#include "broker/journal/record_codec.h"
#include "broker/transfer/frame.h"

namespace gearstalk::transfer {

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
