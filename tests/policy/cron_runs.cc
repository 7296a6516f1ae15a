// Prints when something is due by the calendar: a line "ZONE<tab>FROM<tab>TO<tab>EXPRESSION" on
// standard input is answered with the times behind FROM up to TO, in seconds since 1970.

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>

#include "broker/policy/cron.h"

namespace {

std::string Field(std::string& line) {
  const std::size_t end = line.find('\t');
  std::string field = line.substr(0, end);
  line.erase(0, end + 1);
  return field;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto zone = gearstalk::FindTimeZone(Field(line));
    std::int64_t at = std::stoll(Field(line));
    const std::int64_t end = std::stoll(Field(line));
    const auto cron = gearstalk::Cron::Parse(line);
    if (!zone.ok() || !cron.ok()) {
      std::fprintf(stderr, "'%s' is not good\n", line.c_str());
      return 1;
    }
    std::string runs;
    while (const auto next = cron.value().Next(at, zone.value())) {
      at = *next;
      if (at > end) break;
      runs += std::to_string(at) + ' ';
    }
    std::puts(runs.c_str());
  }
  return 0;
}
