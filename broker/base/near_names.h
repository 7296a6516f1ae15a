#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk {

// The number of edits that turn one word into the other.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The one of `known`, which is not empty, that needs the fewest edits.
const std::string& Nearest(std::string_view word, const std::vector<std::string>& known);

// What to say of a word that is none of `known`: "did you mean 'tube'?", or all of them if none
// is near.
std::string NearNames(std::string_view word, const std::vector<std::string>& known);

}  // namespace gearstalk
