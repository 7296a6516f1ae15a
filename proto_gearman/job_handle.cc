#include "proto_gearman/job_handle.h"

#include <algorithm>
#include <charconv>

#include "broker/base/split.h"

namespace gearstalk::gearman {
namespace {

constexpr std::size_t kMaxDigits = 20;  // of a 64-bit number
constexpr std::size_t kMaxName = HandleText::kMaxSize - kMaxDigits - 3;

bool Breaks(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= ' ' || byte == 0x7f || byte == '/';
}

}  // namespace

HandleFormat::HandleFormat(std::string_view server_name) {
  std::string name(server_name.substr(0, kMaxName));
  std::replace_if(name.begin(), name.end(), Breaks, '-');
  prefix_ = "H:" + name + ":";
}

HandleText HandleFormat::Write(JobId id) const {
  HandleText handle;
  char* const begin = handle.text_.data();
  char* const digits = std::copy(prefix_.begin(), prefix_.end(), begin);
  char* const end = std::to_chars(digits, begin + handle.text_.size(), id).ptr;
  handle.size_ = static_cast<std::size_t>(end - begin);
  return handle;
}

std::optional<JobId> HandleFormat::Read(std::string_view text) const {
  if (!text.starts_with(prefix_)) return std::nullopt;
  const std::string_view digits = text.substr(prefix_.size());
  if (digits.empty() || digits.front() == '0') return std::nullopt;
  JobId id = 0;
  return ParseNumber(digits, id) ? std::optional(id) : std::nullopt;
}

}  // namespace gearstalk::gearman
