#include "broker/config/option.h"

#include <algorithm>
#include <cctype>

namespace gearstalk {

const Option* FindOption(std::string_view key) {
  const auto found = std::find_if(Options().begin(), Options().end(),
                                  [&](const Option& option) { return option.key == key; });
  return found == Options().end() ? nullptr : &*found;
}

std::string FlagOf(const Option& option) {
  std::string flag = "--" + std::string(option.key);
  for (char& c : flag) c = c == '.' || c == '_' ? '-' : c;
  return flag;
}

std::string VariableOf(const Option& option) {
  std::string name = std::string(kVariablePrefix) + std::string(option.key);
  for (char& c : name) c = c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::string FileVariableOf(const Option& option) { return VariableOf(option) + "_FILE"; }

std::vector<const Option*> Difference(const Config& a, const Config& b) {
  std::vector<const Option*> changed;
  for (const Option& option : Options()) {
    if (option.kind.get(a) != option.kind.get(b)) changed.push_back(&option);
  }
  return changed;
}

}  // namespace gearstalk
