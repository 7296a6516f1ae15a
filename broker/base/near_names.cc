#include "broker/base/near_names.h"

#include <algorithm>
#include <utility>

namespace gearstalk {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const std::string& Nearest(std::string_view word, const std::vector<std::string>& known) {
  return *std::ranges::min_element(
      known, {}, [&](const std::string& each) { return EditDistance(word, each); });
}

std::string NearNames(std::string_view word, const std::vector<std::string>& known) {
  const std::string& nearest = Nearest(word, known);
  if (EditDistance(word, nearest) <= word.size() / 2) return "did you mean '" + nearest + "'?";
  std::string names;
  for (const std::string& name : known) {
    names += names.empty() ? "expected " : &name == &known.back() ? " or " : ", ";
    names += name;
  }
  return names;
}

}  // namespace gearstalk
