#include "broker/journal/record.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace gearstalk {
namespace {

// Calls `visit` for each text but those of the policy.
void ForEachText(Record& record, auto visit) {
  for (std::string_view* const text :
       {&record.tube, &record.unique, &record.reducer, &record.body, &record.failure.cause_text,
        &record.failure.origin, &record.put_key, &record.schedule.name, &record.transfer.name,
        &record.transfer.mark, &record.group.name, &record.group.source, &record.home.name,
        &record.home.source}) {
    visit(*text);
  }
}

}  // namespace

BodyHash HashOfBody(std::string_view body) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_withSeed(body.data(), body.size(), 1));
  BodyHash hash;
  std::memcpy(hash.data(), bytes.digest, hash.size());
  return hash;
}

OwnedRecord::OwnedRecord(const Record& record)
    : record_(record), policy_(record.policy.begin(), record.policy.end()) {
  ForEachText(record_, [&](std::string_view text) { size_ += text.size(); });
  for (const std::string_view text : policy_) size_ += text.size();
  text_ = std::make_unique_for_overwrite<char[]>(size_);
  char* end = text_.get();
  const auto keep = [&](std::string_view& text) {
    char* const begin = end;
    end = std::copy(text.begin(), text.end(), begin);
    text = {begin, text.size()};
  };
  ForEachText(record_, keep);
  std::for_each(policy_.begin(), policy_.end(), keep);
  record_.policy = policy_;
}

void OwnedRecord::SetBody(std::string_view body) {
  Record whole = record_;
  whole.body = body;
  whole.body_left_out = 0;
  *this = OwnedRecord(whole);
}

}  // namespace gearstalk
