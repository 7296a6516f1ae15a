#include "broker/engine/report_data.h"

#include <cstddef>
#include <string>

#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

class KeptText {
 public:
  explicit KeptText(std::string_view text) : text_(text), view_(text_) {
    CountJobMemory(static_cast<std::ptrdiff_t>(text_.size()));
  }
  ~KeptText() { CountJobMemory(-static_cast<std::ptrdiff_t>(text_.size())); }
  KeptText(const KeptText&) = delete;
  KeptText& operator=(const KeptText&) = delete;

  const std::string_view& view() const { return view_; }

 private:
  const std::string text_;
  const std::string_view view_;
};

}  // namespace

const std::shared_ptr<const void>& ReportData::Keep() const {
  if (owner_ == nullptr) {
    const std::shared_ptr<const std::string_view> kept = KeepText(bytes_);
    bytes_ = *kept;
    owner_ = kept;
  }
  return owner_;
}

std::shared_ptr<const std::string_view> KeepText(std::string_view text) {
  auto kept = std::make_shared<const KeptText>(text);
  return {kept, &kept->view()};
}

}  // namespace gearstalk
