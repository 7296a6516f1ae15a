#include "admin/move/gearman_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <iterator>
#include <utility>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

constexpr std::size_t kHead = 12;
constexpr std::size_t kMostQuoted = 60;  // bytes of a strange answer

void AppendNumber(std::string& out, std::size_t number) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(number >> shift & 0xff);
}

std::uint32_t NumberAt(std::string_view bytes, std::size_t offset) {
  return boost::endian::load_big_u32(reinterpret_cast<const unsigned char*>(&bytes[offset]));
}

// Packets that come to a client or a worker have one argument, but for these.
using Arguments = std::pair<std::uint32_t, std::size_t>;
constexpr Arguments kArguments[] = {
    {packet::kNoop, 0},         {packet::kNoJob, 0},         {packet::kError, 2},
    {packet::kWorkComplete, 2}, {packet::kWorkException, 2}, {packet::kWorkData, 2},
    {packet::kWorkWarning, 2},  {packet::kWorkStatus, 3},    {packet::kJobAssignUniq, 4},
    {packet::kJobAssignAll, 5}, {packet::kStatusRes, 5},     {packet::kStatusResUnique, 6}};

std::size_t ArgumentsOf(std::uint32_t type) {
  const auto* const found = std::ranges::find(kArguments, type, &Arguments::first);
  return found == std::end(kArguments) ? 1 : found->second;
}

// Whether the bytes, as far as they have come, are the beginning of a packet.
bool BeginsPacket(std::string_view bytes) {
  constexpr std::string_view kMagic("\0RES", 4);
  return kMagic.starts_with(bytes.substr(0, kMagic.size()));
}

bool MayHaveCutKey(const Assigned* job) {
  constexpr std::size_t kKept = 63;
  return job->reducer.empty() && job->unique.size() == kKept && job->body.starts_with('\0');
}

}  // namespace

bool TakeAssigned(Packet& packet, Assigned& job) {
  const bool reduces = packet.type == packet::kJobAssignAll;
  if (packet.type != packet::kJobAssignUniq && !reduces) return false;
  job.handle = std::move(packet.arguments[0]);
  job.function = std::move(packet.arguments[1]);
  job.unique = std::move(packet.arguments[2]);
  job.reducer = reduces ? std::move(packet.arguments[3]) : std::string();
  job.body = std::move(packet.arguments.back());
  return true;
}

Result<std::unique_ptr<GearmanClient>> GearmanClient::Connect(const Target& target) {
  std::unique_ptr<Channel> channel = GS_TRY(ctl::Connect(target));
  auto client = std::make_unique<GearmanClient>(std::move(channel));
  GS_TRY(client->Greet());
  return client;
}

// The line end in the echo makes servers of other protocols, such as beanstalkd, answer at once.
Status GearmanClient::Greet() {
  Add(packet::kEchoReq, {"\r\n"});
  const Result<Packet> answer = Next();
  if (answer.ok()) return {};
  if (BeginsPacket(in_)) return answer.status();
  return {Code::kInvalid,
          fmt::format("{} is no Gearman server: it answers '{}'", channel_->Name(),
                      in_.substr(0, std::min(in_.find_first_of("\r\n"), kMostQuoted)))};
}

Status GearmanClient::Fence() {
  Add(packet::kEchoReq, {"fence"});
  for (;;) {
    const Packet packet = GS_TRY(Next());
    if (packet.type == packet::kEchoRes) return {};
  }
}

void GearmanClient::Add(std::uint32_t type, const std::vector<std::string_view>& arguments) {
  const std::string data = fmt::format("{}", fmt::join(arguments, std::string_view("\0", 1)));
  out_.append("\0REQ", 4);
  AppendNumber(out_, type);
  AppendNumber(out_, data.size());
  out_ += data;
}

Result<bool> GearmanClient::TakePacket(Packet& packet) {
  const std::string_view rest = std::string_view(in_).substr(used_);
  if (!BeginsPacket(rest)) return Status(Code::kIo, channel_->Name() + " sent no packet");
  if (rest.size() < kHead) return false;
  packet.type = NumberAt(rest, 4);
  const std::size_t size = NumberAt(rest, 8);
  if (rest.size() - kHead < size) return false;
  std::string_view data = rest.substr(kHead, size);
  packet.arguments.clear();
  const std::size_t count = ArgumentsOf(packet.type);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = i + 1 < count ? data.find('\0') : std::string_view::npos;
    packet.arguments.emplace_back(data.substr(0, end));
    data = end == std::string_view::npos ? std::string_view() : data.substr(end + 1);
  }
  used_ += kHead + size;
  return true;
}

Result<Packet> GearmanClient::Next(int timeout_ms) {
  GS_TRY(Flush());
  for (;;) {
    Packet packet;
    const bool whole = GS_TRY(TakePacket(packet));
    if (whole) return packet;
    GS_TRY(timeout_ms < 0 ? Await() : More(timeout_ms));
  }
}

Result<std::vector<std::string>> GearmanClient::Admin(std::string_view line, bool table) {
  out_ += line;
  out_ += '\n';
  GS_TRY(Flush());
  std::vector<std::string> lines;
  std::size_t seen = used_;
  for (;;) {
    for (std::size_t end = in_.find('\n', seen); end != std::string::npos;
         end = in_.find('\n', used_)) {
      std::string text = in_.substr(used_, end - used_);
      if (!text.empty() && text.back() == '\r') text.pop_back();
      used_ = end + 1;
      if (table && text == ".") return lines;
      const bool refused = table && lines.empty() && text.starts_with("ERR ");
      lines.push_back(std::move(text));
      if (refused) return Status(Code::kNotFound, std::string(line) + ": " + lines.front());
      if (!table) return lines;
    }
    seen = in_.size() - used_;
    GS_TRY(Await());
  }
}

Result<bool> GearmanClient::Lists(const std::string& client_id) {
  const std::vector<std::string> lines = GS_TRY(Admin("workers"));
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(" " + client_id + " :") != std::string::npos;
  });
}

Status GearmanClient::RefuseSame(const Target& here) {
  const std::string id = fmt::format("gearstalkctl-{}-{}", getpid(), SystemClock().Now());
  Add(packet::kSetClientId, {id});
  GS_TRY(Fence());
  Result<std::unique_ptr<GearmanClient>> other = Connect(here);
  // A broker that speaks no Gearman at this address; nor does this server.
  if (!other.ok() && other.status().code() == Code::kInvalid) return {};
  GS_TRY(StatusOf(other));
  const Result<bool> listed = other.value()->Lists(id);
  // Refused: a broker does not tell strangers who is connected.
  if (!listed.ok()) return listed.status().code() == Code::kNotFound ? Status() : listed.status();
  if (!listed.value()) return {};
  return {Code::kInvalid, fmt::format("{} and {} are one server", Name(), here.address)};
}

Status FixCutKeys(GearmanClient& server, const std::vector<Assigned*>& jobs) {
  std::vector<Assigned*> doubtful;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(doubtful), MayHaveCutKey);
  for (const Assigned* job : doubtful) server.Add(packet::kGetStatusUnique, {job->unique});
  for (Assigned* job : doubtful) {
    const Packet answer = GS_TRY(server.Next());
    // A broker that refuses to answer does not cut keys.
    const bool unknown = answer.type == packet::kStatusResUnique && answer.arguments[1] == "0";
    if (unknown) job->body.erase(0, 1);
  }
  return {};
}

}  // namespace gearstalk::ctl
