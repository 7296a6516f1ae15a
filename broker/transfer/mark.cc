#include "broker/transfer/mark.h"

#include <algorithm>
#include <utility>

#include "broker/transfer/fields.h"

namespace gearstalk::transfer {

namespace {

// How many of the newest outcomes are compared: more than an interrupted run had in flight.
constexpr std::size_t kRecent = 4096;

}  // namespace

std::uint64_t& Mark::CountOf(OutcomeKind outcome) {
  switch (outcome) {
    case OutcomeKind::kJoined:
      return joined;
    case OutcomeKind::kRefused:
      return refused;
    case OutcomeKind::kAltered:
      return altered;
    case OutcomeKind::kUncertain:
      break;
  }
  return uncertain;
}

void Mark::Advance(Mark change) {
  if (!change.kind.empty()) kind = std::move(change.kind);
  if (!change.fingerprint.empty()) fingerprint = std::move(change.fingerprint);
  if (!change.state.empty()) state = std::move(change.state);
  keep_ids = keep_ids || change.keep_ids;
  finished = (finished && !change.reset_finished) || change.finished;
  settled = std::max(settled, change.settled);
  moved += change.moved;
  burial_base = std::max(burial_base, change.burial_base);
  for (MarkedJob& job : change.jobs) {
    // The same job again: an interrupted run had noted it.
    const auto last = jobs.rbegin() + static_cast<std::ptrdiff_t>(std::min(jobs.size(), kRecent));
    const bool known = job.job != 0 && std::any_of(jobs.rbegin(), last, [&](const MarkedJob& each) {
                         return each.job == job.job && each.kind == job.kind && each.key == job.key;
                       });
    if (known && job.kind != OutcomeKind::kJoined) continue;
    ++CountOf(job.kind);
    if (jobs.size() < kMostJobs) jobs.push_back(std::move(job));
  }
}

std::string Mark::Encode() const {
  std::string out;
  AppendFields(*this, out);
  return out;
}

bool Mark::Decode(std::string_view bytes, Mark& mark) {
  mark = {};
  return ReadFields(bytes, mark);
}

}  // namespace gearstalk::transfer
