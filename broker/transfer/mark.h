#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// What the journal keeps about a transfer, by its name: how far it has come, and which jobs of the
// source did not simply move.
namespace gearstalk::transfer {

// T or const T. A message has one list of its fields, Fields, which is read by the encoder and
// written to by the decoder; the number of a field is its number on the wire.
template <typename T, typename Message>
concept Is = std::is_same_v<std::remove_const_t<T>, Message>;

enum class OutcomeKind : std::uint8_t { kJoined = 1, kRefused, kAltered, kUncertain };
inline constexpr std::array<std::string_view, 5> kOutcomeNames = {"", "joined", "refused",
                                                                  "altered", "uncertain"};

// A source job whose outcome is not plain.
struct MarkedJob {
  std::string key{};  // in the source
  std::string tube{};
  std::uint64_t job = 0;  // here; 0: none
  OutcomeKind kind = OutcomeKind::kJoined;
  std::string text{};
};

void Fields(Is<MarkedJob> auto& job, auto& visit) {
  visit(1, job.key);
  visit(3, job.tube);
  visit(2, job.job);
  visit(4, job.kind);
  visit(5, job.text);
}

// A mark, or a change of one: a change has what is new. Numbers in a mark are of the whole
// transfer.
struct Mark {
  static constexpr std::size_t kMostJobs = 10'000;  // that are kept by key

  std::string kind{};         // "import", "take-over", ...
  std::string fingerprint{};  // of the source
  std::string state{};        // what the tool wants to know again; the broker does not read it
  bool keep_ids = false;
  bool finished = false;
  std::uint64_t settled = 0;      // jobs of the source, in its order, that have an outcome
  std::uint64_t moved = 0;        // of them: jobs that are here now, or were
  std::uint64_t burial_base = 0;  // added to the source's order of burial
  std::uint64_t joined = 0, refused = 0, altered = 0, uncertain = 0;
  std::vector<MarkedJob> jobs{};
  bool reset_finished = false;  // of a change: the transfer goes on
  bool whole = false;           // not a change: it replaces what is known

  // Takes a change over: text that is there replaces, `settled` grows, the rest adds up.
  void Advance(Mark change);
  std::uint64_t& CountOf(OutcomeKind outcome);
  std::string Encode() const;
  static bool Decode(std::string_view bytes, Mark& mark);
};

void Fields(Is<Mark> auto& mark, auto& visit) {
  visit(1, mark.kind);
  visit(3, mark.fingerprint);
  visit(5, mark.state);
  visit(2, mark.keep_ids);
  visit(4, mark.finished);
  visit(6, mark.settled);
  visit(8, mark.moved);
  visit(10, mark.burial_base);
  visit(12, mark.joined);
  visit(14, mark.refused);
  visit(16, mark.altered);
  visit(18, mark.uncertain);
  visit(7, mark.jobs);
  visit(20, mark.reset_finished);
  visit(22, mark.whole);
}

}  // namespace gearstalk::transfer
