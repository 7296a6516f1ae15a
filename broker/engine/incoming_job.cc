#include "broker/engine/incoming_job.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

// Bytes; a read into less is not worth its system call.
constexpr std::uint64_t kLeastRead = 4096;

}  // namespace

IncomingJob::IncomingJob(std::uint32_t body_size, std::string_view unique, std::uint32_t trailing)
    : body_size_(body_size),
      trailing_(static_cast<std::uint8_t>(trailing)),
      unique_size_(static_cast<std::uint8_t>(unique.size())) {
  GS_CHECK(trailing == 0 || trailing == 2);
  GS_CHECK(unique.size() <= Job::kMaxUnique);
  std::copy(unique.begin(), unique.end(), unique_.begin());
}

std::size_t IncomingJob::Add(std::string_view bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), missing()));
  if (size == 0 || !MakeRoom(arrived_ + size)) return 0;
  std::memcpy(job_->space().data() + arrived_, bytes.data(), size);
  arrived_ += size;
  return size;
}

std::span<char> IncomingJob::Space() {
  if (job_ == nullptr || complete()) return {};
  if (!MakeRoom(arrived_ + std::min(missing(), kLeastRead))) return {};
  return job_->space().subspan(arrived_, capacity() - arrived_);
}

JobPtr IncomingJob::Take() {
  GS_CHECK(complete());
  if (job_ == nullptr && !Grow(0)) return nullptr;
  if (trailing_ == 0) std::memcpy(job_->space().data() + body_size_, "\r\n", 2);
  return std::move(job_);
}

// How many bytes of the wire fit. Only the full-sized job has space for the trailing bytes.
std::uint64_t IncomingJob::capacity() const {
  if (job_ == nullptr) return 0;
  const std::uint64_t body = job_->body_size();
  return body == body_size_ ? total() : body;
}

bool IncomingJob::MakeRoom(std::uint64_t size) {
  return failed_ || size <= capacity() ? !failed_ : Grow(size);
}

bool IncomingJob::Grow(std::uint64_t size) {
  const auto body = static_cast<std::uint32_t>(
      RoomToArrive(capacity(), std::min<std::uint64_t>(size, body_size_), body_size_));
  if (job_ == nullptr) {
    job_ = Job::TryNew(body, unique());
  } else {
    job_ = Job::TryGrow(std::move(job_), body);
  }
  failed_ = job_ == nullptr;
  return !failed_;
}

}  // namespace gearstalk
