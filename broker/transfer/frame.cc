#include "broker/transfer/frame.h"

namespace gearstalk::transfer {

Cut TakeFrame(std::string_view& bytes, Frame& frame, std::size_t& need) {
  need = kFrameHead;
  if (bytes.size() < 4) return Cut::kMore;
  const auto size = Load<std::uint32_t>(bytes, 0);
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
  GS_TRY(codec_.Decode(item.record, frame.body, record));
  if (record.kind != kind) return {Code::kCorrupt, "a record of another kind"};
  if (item.chooses_id) record.id = 0;
  record.put_key = {};
  record.seen_until = 0;
  record.schedule = {};
  record.group = record.home = {};
  record.transfer.name = record.transfer.mark = {};
  record.transfer.settled = false;
  return {};
}

Status RecordFrames::Read(const Frame& frame, Record& record) {
  Item item;
  return Read(frame, record, item);
}

}  // namespace gearstalk::transfer
