#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk {

// The rights; a set of rights is their bitwise or.
namespace right {
inline constexpr std::uint8_t kNone = 0;
inline constexpr std::uint8_t kProduce = 1;  // put and submit jobs
inline constexpr std::uint8_t kConsume = 2;  // take jobs, and end them
inline constexpr std::uint8_t kAdmin = 4;    // change what others do; includes kObserve
inline constexpr std::uint8_t kObserve = 8;  // see numbers and names, no bodies
inline constexpr std::uint8_t kAny = kProduce | kConsume | kAdmin | kObserve;
}  // namespace right

// The rights of a connection, by tube. A connection with all rights has no Access.
class Access {
 public:
  struct Rule {
    std::uint8_t rights = right::kNone;
    std::vector<std::string> tubes;  // shell patterns
  };
  explicit Access(std::vector<Rule> rules) : rules_(std::move(rules)) {}

  // Whether it has one of `rights` on the tube: the first rule with a matching pattern decides.
  bool Allows(std::uint8_t rights, std::string_view tube) const;
  // The same for commands about all tubes, or none: the first rule for all tubes ("*") decides.
  bool AllowsAll(std::uint8_t rights) const;
  // Whether there is a tube on which it may have one of `rights`.
  bool AllowsSome(std::uint8_t rights) const;

 private:
  std::vector<Rule> rules_;
};

}  // namespace gearstalk
