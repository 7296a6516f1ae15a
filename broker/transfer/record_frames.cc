#include "broker/transfer/record_frames.h"

namespace gearstalk::transfer {

void RecordFrames::AppendHead(std::string& out, Type type, const Record& record, Item item) {
  Record stored = record;
  item.chooses_id = record.kind == Record::Kind::kPut && record.id == 0;
  if (item.chooses_id) stored.id = 1;  // the journal knows no job without one
  bytes_.Clear();
  codec_.Encode(stored, bytes_);
  item.record = bytes_.view();
  std::string fields;
  AppendFields(item, fields);
  transfer::AppendHead(out, type, fields, record.body.size());
}

void RecordFrames::Append(std::string& out, Type type, const Record& record, const Item& item) {
  AppendHead(out, type, record, item);
  out += record.body;
}

Status RecordFrames::Read(const Frame& frame, Record& record, Item& item) {
  const auto kind = frame.type == Type::kTube ? Record::Kind::kTube : Record::Kind::kPut;
  if (!ReadFields(frame.fields, item)) return {Code::kCorrupt, "a message that cannot be read"};
  if (Status status = codec_.Decode(item.record, frame.body, record); !status.ok()) return status;
  if (record.kind != kind) return {Code::kCorrupt, "a record of another kind"};
  if (item.chooses_id) record.id = 0;
  record.put_key = {};
  record.seen_until = 0;
  record.schedule = {};
  record.transfer.name = record.transfer.mark = {};
  record.transfer.settled = false;
  return {};
}

Status RecordFrames::Read(const Frame& frame, Record& record) {
  Item item;
  return Read(frame, record, item);
}

}  // namespace gearstalk::transfer
