#include "proto_beanstalk/reply.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gearstalk::beanstalk {
namespace {

// Room for the longest line of a reply: USING and a tube name.
constexpr std::size_t kLineRoom = 256;
constexpr std::size_t kMaxDigits = 20;

char* Put(char* at, std::string_view text) { return std::copy(text.begin(), text.end(), at); }

char* Put(char* at, std::uint64_t number) { return std::to_chars(at, at + kMaxDigits, number).ptr; }

// Writes the parts, separated by spaces and followed by CRLF, in place.
template <typename... Parts>
void WriteLine(Output& out, std::string_view word, Parts... parts) {
  char* const begin = out.Prepare(kLineRoom);
  char* at = Put(begin, word);
  ((*at++ = ' ', at = Put(at, parts)), ...);
  at = Put(at, std::string_view("\r\n"));
  out.Commit(static_cast<std::size_t>(at - begin));
}

// Not inlined: small bodies do not pay for its stack.
[[gnu::noinline]] void ShareBody(Output& out, const Job& job) {
  // Counting references changes nothing that readers of the job see.
  out.AppendShared(BodyCrlf(job), Pin(Job::Ref(const_cast<Job&>(job))));
}

void WriteBody(Output& out, const Job& job) {
  const std::string_view body = BodyCrlf(job);
  body.size() < Output::kShareFrom ? out.Append(body) : ShareBody(out, job);
}

}  // namespace

std::string_view ErrorReply(Code code) {
  switch (code) {
    case Code::kNotFound:
      return kNotFound;
    case Code::kNotIgnored:
      return "NOT_IGNORED\r\n";
    case Code::kDraining:
      return "DRAINING\r\n";
    // A client may try again later after any of these.
    case Code::kQueueFull:
    case Code::kGroupFull:
    case Code::kGroupMissing:
    case Code::kOutOfMemory:
    case Code::kTooManyTubes:
    case Code::kJournal:
    case Code::kDiskLow:
      return "OUT_OF_MEMORY\r\n";
    case Code::kOk:
    case Code::kInUse:
    case Code::kInvalid:
    case Code::kIo:
    case Code::kCorrupt:
      break;
  }
  return kInternalError;
}

Next WriteOutcome(Output& out, Outcome outcome, std::string_view reply) {
  if (outcome.ok()) out.HoldUntil(outcome.lsn);
  out.Append(outcome.ok() ? reply : ErrorReply(outcome.code));
  return Next::kGoOn;
}

Next WriteNumber(Output& out, std::string_view word, std::uint64_t number) {
  WriteLine(out, word, number);
  return Next::kGoOn;
}

Next WriteName(Output& out, std::string_view word, std::string_view name) {
  WriteLine(out, word, name);
  return Next::kGoOn;
}

Next WriteJob(Output& out, std::string_view word, const Job& job) {
  WriteLine(out, word, job.id(), std::uint64_t{job.body_size()});
  WriteBody(out, job);
  return Next::kGoOn;
}

Next WriteYaml(Output& out, std::string_view yaml) {
  WriteLine(out, "OK", std::uint64_t{yaml.size()});
  out.Append(yaml);
  out.Append("\r\n");
  return Next::kGoOn;
}

Next WriteYaml(Output& out, Output yaml) {
  WriteLine(out, "OK", std::uint64_t{yaml.size()});
  out.Append(std::move(yaml));
  out.Append("\r\n");
  return Next::kGoOn;
}

}  // namespace gearstalk::beanstalk
