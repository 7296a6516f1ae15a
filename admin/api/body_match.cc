#include "admin/api/body_match.h"

#include <string.h>

#include <algorithm>

namespace gearstalk::api {
namespace {

// Bytes of JSON text that are parsed into a value; longer elements are compared as text only.
constexpr std::size_t kMostCompared = 32 * 1024;
// The cost of comparing an element, in bytes that could be read meanwhile.
constexpr std::uint64_t kElementCost = 256;
// Reading JSON takes this many times longer than searching text.
constexpr std::uint64_t kScanCost = 2;

bool IsJsonString(std::string_view value) { return value.starts_with('"'); }

Json ValueOf(std::string_view value) {
  if (IsJsonString(value)) return TextOfJsonString(value);
  return ParseJson(value).value_or(Json());
}

}  // namespace

BodyMatch::Found BodyMatch::Advance(const Job& job, std::uint64_t& budget) {
  if (job.id() != job_) {
    job_ = job.id();
    searched_ = scanned_ = 0;
    has_text_ = false;
    scan_.reset();
  }
  if (!filter_.ReadsBody()) return Found::kYes;
  if (!job.has_body()) return Found::kNo;  // it is damaged
  const Found text = Search(job.body(), budget);
  const Found found = text == Found::kYes ? Scan(job.body(), budget) : text;
  if (found != Found::kNotYet) job_ = 0;
  return found;
}

// Searches in pieces that overlap by the length of the text.
BodyMatch::Found BodyMatch::Search(std::string_view body, std::uint64_t& budget) {
  const auto& text = filter_.text();
  if (has_text_ || !text || text->empty()) return Found::kYes;
  const std::size_t left = body.size() - std::min(searched_, body.size());
  const std::uint64_t piece = std::min<std::uint64_t>(left, budget);
  const std::size_t size = std::min<std::size_t>(left, piece + text->size());
  budget -= piece;
  if (memmem(body.data() + searched_, size, text->data(), text->size()) != nullptr) {
    has_text_ = true;
    return Found::kYes;
  }
  if (size == left) return Found::kNo;
  searched_ += piece;
  return Found::kNotYet;
}

BodyMatch::Found BodyMatch::Scan(std::string_view body, std::uint64_t& budget) {
  if (!filter_.path()) return Found::kYes;
  if (body.size() > Filter::kMaxJson) return Found::kNo;
  if (!scan_) {
    scan_.emplace(*filter_.path(), on_element_);
    tells_ = 0;
    contained_ = false;
  }
  elements_ = 0;
  const std::uint64_t piece = std::min<std::uint64_t>(body.size() - scanned_, budget / kScanCost);
  // A list of many small elements takes longer than its bytes.
  constexpr std::uint64_t kStretch = 1024;
  std::uint64_t read = 0;
  bool ended = false;
  while (!ended && read + elements_ * kElementCost <= piece) {
    const std::uint64_t stretch = std::min(kStretch, piece - read + 1);
    ended = scan_->Read(body, stretch);
    read += stretch;
  }
  scanned_ = std::min<std::size_t>(body.size(), scanned_ + read);
  budget -= std::min(budget, (read + elements_ * kElementCost) * kScanCost);
  if (!ended) return Found::kNotYet;
  const std::string_view value = scan_->value();
  const bool matches = !value.empty() && Compare(value);
  scan_.reset();
  return matches ? Found::kYes : Found::kNo;
}

void BodyMatch::OnElement(std::string_view element) {
  if (!filter_.LooksInLists()) return;
  if (scan_->tells() != tells_) contained_ = false;
  tells_ = scan_->tells();
  if (contained_ || IsJsonString(element) != filter_.value().is_string()) return;
  ++elements_;
  if (!IsJsonString(element) && element.size() > kMostCompared) return;
  contained_ = ValueOf(element) == filter_.value();
}

bool BodyMatch::Compare(std::string_view value) const {
  if (!filter_.AsksForValue()) return true;
  if (value.starts_with('[') && filter_.LooksInLists()) {
    return contained_ && scan_->tells() == tells_;
  }
  if (!IsJsonString(value) && value.size() > kMostCompared) return filter_.AsksForAnother();
  return filter_.Compare(ValueOf(value));
}

}  // namespace gearstalk::api
