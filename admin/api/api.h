#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "admin/api/audit.h"
#include "admin/api/call.h"
#include "admin/api/events.h"
#include "admin/api/guard.h"
#include "admin/api/history.h"
#include "admin/api/operations.h"
#include "admin/api/routes.h"
#include "admin/api/side_thread.h"
#include "admin/api/users.h"
#include "admin/http/answer.h"

namespace gearstalk::api {

// Keeps the answers to requests with a key, so that a repeated request has no second effect.
class Idempotency {
 public:
  static constexpr Time kLasts = 600 * kSecond;
  static constexpr std::size_t kKept = 1024;

  struct Entry {
    Sha256 request{};
    std::optional<HttpContent> answer;  // once there is one
    Time at = 0;
  };

  // nullptr: the key is new, and its request begins now.
  const Entry* Begin(const std::string& key, const Sha256& request, Time now);
  void Finish(const std::string& key, const Reply& reply);
  // Removes the key, as if there had been no request.
  void Forget(const std::string& key) { entries_.erase(key); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  std::deque<std::pair<Time, std::string>> order_;
};

// /api/v1: checks the caller's rights, calls the handler, and makes an HTTP answer of its reply.
class Api {
 public:
  // All of it outlives the API.
  Api(Engine& engine, const ConnectionList& connections, Host& host, BrokerControl& broker,
      Attention& attention, SliceQueue& slices, const std::string& history_file);

  Guard& guard() { return guard_; }
  Audit& audit() { return audit_; }
  Events& events() { return events_; }

  // `path` is the part behind /api/v1, as sent.
  HttpAnswer Answer(HttpRequest& request, std::string_view path, Time now);
  // The answer to a request that could not be parsed, or exceeds a limit.
  HttpAnswer Refuse(int status, const HttpRequest& request, Time now);
  std::size_t MaxBody(const HttpRequest& head, Time now);
  // The answer to a caller who may not see the console's pages; nothing: the caller may.
  std::optional<HttpAnswer> RefusesPage(const HttpRequest& request, Time now);
  // The headers of every answer, pages included.
  static HttpAnswer::Headers CommonHeaders();
  std::string NewRequestId();
  // Every round; returns when the next one is wanted at latest.
  Time Tick(Time now);
  const LoopLag& loop_lag() const { return history_.loop_lag(); }

 private:
  struct UnderWay;
  struct Document;
  // What Finish needs, for requests that are answered later, too.
  struct Ending {
    Caller caller;
    Act act;
    std::string request_id;
    std::string key;  // of idempotency; empty: none
  };

  HttpAnswer Respond(Call& call, const Match& match, std::optional<Problem> problem,
                     Document document, Ending& ending);
  HttpTask AnswerWhenRead(HttpRequest& request, Match match, Ending ending);
  HttpTask AnswerInSlices(Task task, std::unique_ptr<UnderWay> request);
  Reply Run(Call& call, const Match& match, Document& document, Ending& ending);
  std::optional<Problem> Permit(const Call& call, const Match& match) const;
  static Document Read(std::string_view body, bool acts, const std::string& hashed_with);
  std::optional<Reply> Replay(const Call& call, const Document& document, Ending& ending);
  HttpAnswer Finish(Reply reply, Ending ending, Time now);
  // Records an act; nothing, if it is none.
  void Record(const Ending& ending, std::string_view result, Time now);

  const std::string instance_ = RandomText(6);  // of request ids
  Guard guard_;
  Audit audit_;
  Operations operations_;
  History history_;
  SideThread side_;
  const Services services_;
  Events events_{services_};
  Idempotency idempotency_;
  std::uint64_t requests_ = 0;
};

}  // namespace gearstalk::api
