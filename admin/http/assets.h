#pragma once

#include <span>
#include <string_view>

#include "admin/http/answer.h"
#include "admin/http/request.h"

namespace gearstalk {

// A file that is part of the binary.
struct HttpAsset {
  std::string_view name;   // below its folder; "" is the page, others have a hash of their bytes
  std::string_view type;   // for Content-Type
  std::string_view plain;  // the bytes
  std::string_view gzip;   // the same, compressed; may be empty
};

// nullptr: there is none.
const HttpAsset* FindAsset(std::span<const HttpAsset> assets, std::string_view name);
// Browsers fetch the page each time, and keep the others for ever; the page carries the policy.
HttpAnswer AnswerAsset(const HttpAsset& asset, const HttpRequest& request);

}  // namespace gearstalk
