#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/link/link_end.h"
#include "broker/link/payloads.h"
#include "broker/server/event_loop.h"
#include "broker/server/stream.h"

namespace gearstalk {

// What a link asks of the server.
class LinkHost {
 public:
  // Before anything that an event brings.
  virtual void BeginRound() = 0;
  // A client came: makes a Stream for it, or does not want it.
  virtual void OnOpen(RouterLink& link, std::uint32_t stream, const link::Open& open) = 0;
  // Whether this round may welcome one more client.
  virtual bool MayWelcome() = 0;
  // The router has no descriptor for one more client.
  virtual void OnNoDescriptors(std::string_view error) = 0;

 protected:
  ~LinkHost() = default;
};

// The broker's end of the link to one router: a round's frames are read at once, go to the streams
// in their order, and what the round has to say is written at its end.
class RouterLink {
 public:
  RouterLink(EventLoop& loop, link::LinkEnd end, LinkHost& host);
  // Its streams break.
  ~RouterLink();
  RouterLink(const RouterLink&) = delete;
  RouterLink& operator=(const RouterLink&) = delete;

  void Send(const link::Settings& settings);
  void Listen(bool listens);
  void Ping(std::uint64_t number);
  // While paused, nothing is read.
  void Pause(bool paused);
  // Sends what waits.
  void Flush();
  // Waits until something was read, for `milliseconds` at most, and handles it.
  void WaitForFrames(int milliseconds);

  // Why the router is of no use any more; empty: it is.
  const std::string& lost() const { return lost_; }
  const link::Counters& counters() const { return counters_; }
  // Clients, and those whose end the router has not confirmed.
  std::size_t streams() const { return streams_; }
  // Bytes for clients that the router has, or will get; see link::kReportFrom.
  std::size_t under_way() const { return under_way_; }
  std::uint64_t received_bytes() const { return end_.received_bytes(); }
  std::uint64_t sent_bytes() const { return end_.sent_bytes(); }

  // --- For its streams
  void Join(std::uint32_t number, Stream& stream) { places_[number].stream = &stream; }
  void Leave(std::uint32_t number, std::size_t under_way, bool ends_well);
  void SendData(std::uint32_t number, std::string_view bytes) { end_.AddData(number, bytes); }
  void SendCredit(std::uint32_t number, std::uint32_t granted);
  bool busy() const { return end_.waiting() >= link::kBusyLink; }
  bool full() const { return end_.waiting() >= link::kFullLink; }
  // The stream gets a call of TellLater when the link is less busy, and its turn has come.
  void NoteBlocked(Stream& stream) {
    if (!stream.blocked_hook.is_linked()) blocked_.push_back(stream);
  }
  // A stream had so many bytes under way.
  void CountUnderWay(std::size_t before, std::size_t after) {
    under_way_ += Counted(after) - Counted(before);
  }
  // What counts of so many.
  static std::size_t Counted(std::size_t under_way) {
    return under_way > link::kReportFrom ? under_way - link::kReportFrom : 0;
  }

 private:
  struct Place {
    Stream* stream = nullptr;
    enum class State : std::uint8_t { kFree, kOpen, kClosing } state = State::kFree;
    std::uint32_t under_way = 0;  // of kClosing
  };
  void OnReadable();
  void Unblock();
  void Run();
  void GoOn();
  // False: it makes no sense.
  bool Handle(const link::Frame& frame);
  bool HandleOfLink(const link::Frame& frame);
  bool HandleOpen(const link::Frame& frame);
  bool HandleClose(Place& place, std::string_view payload);
  bool HandleOf(Stream& stream, const link::Frame& frame);
  void Lose(std::string why);

  LinkHost& host_;
  link::LinkEnd end_;
  Event readable_, soon_;
  std::vector<Place> places_;  // by number
  StreamList<&Stream::blocked_hook> blocked_;
  link::Counters counters_;
  std::size_t streams_ = 0;
  std::size_t under_way_ = 0;
  std::string lost_;
  bool unfinished_ = true;  // there may be frames, and no bell tells of them
  bool paused_ = false;
};

}  // namespace gearstalk
