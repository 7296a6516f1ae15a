#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/journal/record.h"

namespace gearstalk {

// A record that owns its text, in one allocation.
class OwnedRecord {
 public:
  explicit OwnedRecord(const Record& record);
  OwnedRecord(const OwnedRecord& other) : OwnedRecord(other.record_) {}
  OwnedRecord(OwnedRecord&&) = default;
  OwnedRecord& operator=(const OwnedRecord&) = delete;
  OwnedRecord& operator=(OwnedRecord&&) = default;

  // Its views hold as long as this object, also when it is moved.
  const Record& View() const { return record_; }
  // Bytes of its text.
  std::size_t text_size() const { return size_; }
  void SetPhase(Record::Held phase) { record_.transfer.held = phase; }
  // Of a record whose body was left out.
  void SetBody(std::string_view body);

 private:
  Record record_;
  std::size_t size_ = 0;
  std::unique_ptr<char[]> text_;
  std::vector<std::string_view> policy_;
};

}  // namespace gearstalk
