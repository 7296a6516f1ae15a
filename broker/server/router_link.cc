#include "broker/server/router_link.h"

#include <poll.h>

#include <utility>

namespace gearstalk {

using link::Kind;

namespace {

// Streams that may write again in one round, each a window at most.
constexpr std::size_t kUnblocked = link::kFullLink / link::kWindow;

}  // namespace

RouterLink::RouterLink(EventLoop& loop, link::LinkEnd end, LinkHost& host)
    : host_(host), end_(std::move(end)) {
  readable_ = loop.OnReady<&RouterLink::OnReadable>(end_.fd(), EventLoop::Interest::kRead, *this);
  soon_ = loop.OnSoon<&RouterLink::GoOn>(*this);
  EventLoop::Enable(readable_);
  EventLoop::Soon(soon_);
}

RouterLink::~RouterLink() {
  blocked_.clear();
  for (const Place& place : places_) {
    if (place.stream != nullptr) place.stream->OnLost();
  }
}

void RouterLink::Send(const link::Settings& settings) {
  end_.Add(0, Kind::kReload, link::Encode(settings));
}

void RouterLink::Listen(bool listens) {
  const char payload = listens ? 1 : 0;
  end_.Add(0, Kind::kListen, {&payload, 1});
}

void RouterLink::Ping(std::uint64_t number) {
  end_.Add(0, Kind::kPing, link::Encode(link::Counters{.ping = number}));
}

void RouterLink::Pause(bool paused) {
  paused_ = paused;
  if (paused || !lost_.empty()) return;
  EventLoop::Enable(readable_);
  EventLoop::Soon(soon_);
}

void RouterLink::Lose(std::string why) {
  if (!lost_.empty()) return;
  lost_ = std::move(why);
  EventLoop::Disable(readable_);
}

void RouterLink::Flush() {
  if (!lost_.empty()) return;
  if (!end_.Send()) return Lose("the link is gone");
  if (!busy()) Unblock();
}

// As many as fill the link again, the longest waiting first. The others follow in the next rounds.
void RouterLink::Unblock() {
  for (std::size_t n = 0; n < kUnblocked && !blocked_.empty();) {
    Stream& stream = blocked_.front();
    blocked_.pop_front();
    if (stream.TellLater()) ++n;
  }
}

void RouterLink::WaitForFrames(int milliseconds) {
  if (unfinished_ && lost_.empty()) return GoOn();
  pollfd look{.fd = end_.fd(), .events = POLLIN, .revents = 0};
  if (lost_.empty() && poll(&look, 1, milliseconds) > 0) OnReadable();
}

void RouterLink::OnReadable() {
  // Its end is seen when the pause is over.
  if (paused_ && end_.gone()) return EventLoop::Disable(readable_);
  if (paused_ || !unfinished_) GoOn();
}

void RouterLink::Run() {
  unfinished_ = false;
  while (lost_.empty() && !unfinished_) {
    const link::Decoded next = end_.Next();
    if (next.state == link::Decoded::State::kMore) {
      unfinished_ = end_.more();
      break;
    }
    if (next.state == link::Decoded::State::kMalformed || !Handle(next.frame)) {
      return Lose("it has sent a frame that makes no sense");
    }
    unfinished_ = next.frame.kind == Kind::kOpen && !host_.MayWelcome();
  }
  end_.Release();
  if (unfinished_) EventLoop::Soon(soon_);
}

void RouterLink::GoOn() {
  host_.BeginRound();
  const bool lives = end_.Receive();
  if (paused_) return;
  lives ? Run() : Lose("it has ended");
}

bool RouterLink::Handle(const link::Frame& frame) {
  if (frame.stream == 0) return HandleOfLink(frame);
  if (frame.kind == Kind::kOpen) return HandleOpen(frame);
  if (frame.stream >= places_.size()) return false;
  Place& place = places_[frame.stream];
  if (place.state == Place::State::kFree) return false;
  if (frame.kind == Kind::kClose) return HandleClose(place, frame.payload);
  // What a router sends of a stream that the broker has ended was under way.
  if (place.state == Place::State::kOpen) return HandleOf(*place.stream, frame);
  if (frame.kind != Kind::kCredit) return true;
  const auto credit = link::DecodeCredit(frame.payload);
  if (!credit || credit->delivered > place.under_way) return false;
  CountUnderWay(place.under_way, place.under_way - credit->delivered);
  place.under_way -= credit->delivered;
  return true;
}

bool RouterLink::HandleOfLink(const link::Frame& frame) {
  if (frame.kind == Kind::kPing) {
    const auto counters = link::DecodeCounters(frame.payload);
    if (counters) counters_ = *counters;
    return counters.has_value();
  }
  const auto reset = frame.kind == Kind::kReset ? link::DecodeReset(frame.payload) : std::nullopt;
  if (!reset || reset->trouble != link::Trouble::kDescriptors) return false;
  host_.OnNoDescriptors(reset->reason);
  return true;
}

bool RouterLink::HandleOpen(const link::Frame& frame) {
  const auto open = link::DecodeOpen(frame.payload);
  if (!open) return false;
  if (places_.size() <= frame.stream) places_.resize(frame.stream + 1);
  if (places_[frame.stream].state != Place::State::kFree) return false;
  places_[frame.stream].state = Place::State::kOpen;
  ++streams_;
  host_.OnOpen(*this, frame.stream, *open);
  if (places_[frame.stream].stream == nullptr) Leave(frame.stream, 0, false);
  return true;
}

void RouterLink::Leave(std::uint32_t number, std::size_t under_way, bool ends_well) {
  places_[number] = {.stream = nullptr,
                     .state = Place::State::kClosing,
                     .under_way = static_cast<std::uint32_t>(under_way)};
  end_.Add(number, Kind::kClose, link::EncodeClose(ends_well ? 1 : 0));
}

// Both sides have counted the same bytes, or a window would be lost with every client.
bool RouterLink::HandleClose(Place& place, std::string_view payload) {
  const auto undelivered = link::DecodeClose(payload);
  if (place.state != Place::State::kClosing || undelivered != place.under_way) return false;
  CountUnderWay(place.under_way, 0);
  place = {};
  --streams_;
  return true;
}

bool RouterLink::HandleOf(Stream& stream, const link::Frame& frame) {
  switch (frame.kind) {
    case Kind::kData:
      return stream.OnData(frame.payload);
    case Kind::kSecured:
      stream.OnSecured(frame.payload);
      return true;
    case Kind::kHangUp:
      stream.OnHangUp();
      return true;
    case Kind::kEnd:
      stream.OnEnd();
      return true;
    case Kind::kReset:
      if (const auto reset = link::DecodeReset(frame.payload)) {
        stream.OnReset(*reset);
        return true;
      }
      return false;
    case Kind::kCredit: {
      const auto credit = link::DecodeCredit(frame.payload);
      return credit && stream.OnCredit(*credit);
    }
    default:
      return false;
  }
}

void RouterLink::SendCredit(std::uint32_t number, std::uint32_t granted) {
  end_.Add(number, Kind::kCredit, link::Encode(link::Credit{.delivered = 0, .granted = granted}));
}

}  // namespace gearstalk
