// Three clients of one broker, both protocols, no sockets. An input is a script: steps parted by
// "\xff|", the first byte of each says what happens, the rest is what is sent.
//
//   a b c TEXT    the client sends TEXT
//   r WHO N BYTE TEXT
//                 client WHO (a b c) sends 64 * N times BYTE, then TEXT: long lines and bodies
//   d WHO         the client is gone, a new one comes in its place
//   h WHO         the client closes its side
//   t N           N milliseconds pass (N: decimal)
//
// The script runs several times, with other cuts between the reads of each step. Whatever the cuts:
// every client hears the same, and the engine's books are right after each step.

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/server/routed_broker.h"

namespace gearstalk {
namespace {

constexpr std::string_view kSeparator = "\xff|";
constexpr Time kLongestPause = 3600 * 1000;  // milliseconds

using Heard = std::array<std::string, RoutedBroker::kClients>;

std::vector<std::string_view> Steps(std::string_view script) {
  std::vector<std::string_view> steps;
  while (!script.empty()) {
    const std::string_view step = script.substr(0, script.find(kSeparator));
    if (!step.empty()) steps.push_back(step);
    script.remove_prefix(std::min(step.size() + kSeparator.size(), script.size()));
  }
  return steps;
}

class Play {
 public:
  explicit Play(std::size_t piece) : piece_(piece) {}

  Heard Run(std::string_view script) {
    for (const std::string_view step : Steps(script)) {
      Do(step.front(), step.substr(1));
      broker_.Settle();
      const std::string difference = broker_.CheckInvariants();
      if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
      GS_CHECK(difference.empty());
      for (std::size_t i = 0; i < RoutedBroker::kClients; ++i) Listen(i);
    }
    return std::move(heard_);
  }

 private:
  static std::size_t Who(char name) {
    return static_cast<unsigned char>(name - 'a') % RoutedBroker::kClients;
  }

  void Do(char what, std::string_view rest) {
    switch (what) {
      case 'a':
      case 'b':
      case 'c':
        return broker_.client(Who(what)).Send(rest, piece_);
      case 'r':
        if (rest.size() < 3) return;
        return Repeat(Who(rest[0]), static_cast<unsigned char>(rest[1]), rest[2], rest.substr(3));
      case 'd':
        return rest.empty() ? void() : Replace(Who(rest[0]));
      case 'h':
        return rest.empty() ? void() : broker_.client(Who(rest[0])).HalfClose();
      case 't':
        return Pass(rest);
      default:
        return;
    }
  }

  // Cut less finely than the rest: byte by byte it would cost the square of its length.
  void Repeat(std::size_t who, std::size_t times, char byte, std::string_view text) {
    const std::size_t piece = piece_ == 0 ? 0 : piece_ + 500;
    broker_.client(who).Send(std::string(64 * times, byte).append(text), piece);
  }

  void Replace(std::size_t who) {
    broker_.client(who).Disconnect();
    Listen(who);
    heard_[who] += "(gone)";
    broker_.Reconnect(who);
  }

  void Pass(std::string_view milliseconds) {
    Time by = 0;
    std::from_chars(milliseconds.data(), milliseconds.data() + milliseconds.size(), by);
    broker_.Pass(std::clamp<Time>(by, 0, kLongestPause) * kMillisecond);
  }

  void Listen(std::size_t who) {
    heard_[who] += broker_.client(who).Hear();
    if (broker_.client(who).closed()) heard_[who] += "(closed)";
  }

  const std::size_t piece_;
  RoutedBroker broker_;
  Heard heard_;
};

// The processor time in `stats` differs from run to run.
void DropTimes(std::string& text) {
  static constexpr std::string_view kKey = "rusage-";
  for (std::size_t at = text.find(kKey); at != std::string::npos; at = text.find(kKey, at + 1)) {
    const std::size_t value = std::min(text.find(':', at), text.size());
    text.erase(value, text.find('\n', value) - value);
  }
}

void ShowDifference(std::size_t who, const std::string& whole, std::size_t piece,
                    const std::string& cut) {
  std::fprintf(stderr, "client %c, read in one:\n", static_cast<char>('a' + who));
  std::fwrite(whole.data(), 1, whole.size(), stderr);
  std::fprintf(stderr, "\nread in pieces of %zu:\n", piece);
  std::fwrite(cut.data(), 1, cut.size(), stderr);
  std::fprintf(stderr, "\n");
}

}  // namespace
}  // namespace gearstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  const std::string_view script = AsBytes(data, size);
  Heard whole = Play(0).Run(script);
  for (std::string& heard : whole) DropTimes(heard);
  for (const std::size_t piece : {std::size_t{1}, 2 + size % 61}) {
    Heard cut = Play(piece).Run(script);
    for (std::size_t i = 0; i < RoutedBroker::kClients; ++i) {
      DropTimes(cut[i]);
      if (cut[i] != whole[i]) ShowDifference(i, whole[i], piece, cut[i]);
      GS_CHECK(cut[i] == whole[i]);
    }
  }
  return 0;
}
