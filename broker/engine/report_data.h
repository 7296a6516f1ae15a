#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace gearstalk {

// What a consumer says of a job, for those who wait for it: whoever sends it later than now keeps
// it, and all who do so have one copy.
class ReportData {
 public:
  ReportData() = default;
  // The bytes live as long as the call that takes this.
  template <typename Bytes>
  requires std::convertible_to<const Bytes&, std::string_view> ReportData(const Bytes& bytes)
      : bytes_(bytes) {}  // NOLINT(google-explicit-constructor)
  // They live as long as `owner`: no copy is needed.
  ReportData(std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  operator std::string_view() const { return bytes_; }  // NOLINT(google-explicit-constructor)
  std::size_t size() const { return bytes_.size(); }
  // As long as it is held, the bytes stay where they are from now on.
  const std::shared_ptr<const void>& Keep() const;

 private:
  mutable std::string_view bytes_;
  mutable std::shared_ptr<const void> owner_;
};

// The data of a job that ended without any.
inline constinit const ReportData kNoReport{};

// A text that counts as memory of jobs while somebody has it.
std::shared_ptr<const std::string_view> KeepText(std::string_view text);

}  // namespace gearstalk
