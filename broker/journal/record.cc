#include "broker/journal/record.h"

#include <xxhash.h>

#include <cstring>

namespace gearstalk {

BodyHash HashOfBody(std::string_view body) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_withSeed(body.data(), body.size(), 1));
  BodyHash hash;
  std::memcpy(hash.data(), bytes.digest, hash.size());
  return hash;
}

}  // namespace gearstalk
