#pragma once

#include <span>
#include <string_view>

namespace gearstalk {

// A file of the browser console, part of the broker's binary.
struct ConsoleAsset {
  std::string_view
      name;  // below /console/. Empty: the page; the others have a hash of their bytes in it
  std::string_view type;   // for Content-Type
  std::string_view plain;  // the bytes
  std::string_view gzip;   // the same, compressed
};

std::span<const ConsoleAsset> ConsoleAssets();

}  // namespace gearstalk
