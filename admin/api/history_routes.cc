#include <algorithm>

#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/history.h"
#include "admin/api/lookup.h"
#include "admin/api/names.h"
#include "admin/api/side_thread.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kUsualPoints = 360;

// Words separated by commas; without any, the four numbers of jobs.
std::vector<std::size_t> SeriesOf(Fields& fields, bool of_tube) {
  const std::string text =
      fields.Text("series").value_or("jobs_ready,jobs_reserved,jobs_delayed,jobs_buried");
  std::vector<std::size_t> series;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto found = std::find(std::begin(kSeries), std::end(kSeries), text.substr(at, end - at));
    const auto place = static_cast<std::size_t>(found - std::begin(kSeries));
    if (place >= (of_tube ? kTubeSeries : kServerSeries)) {
      fields.Fail("series", of_tube ? "unknown, or not kept of tubes" : "unknown");
      break;
    }
    if (std::find(series.begin(), series.end(), place) == series.end()) series.push_back(place);
    at = end + 1;
  }
  return series;
}

}  // namespace

Reply GetHistory(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  History::Query query;
  query.tube = fields.Bytes("tube");
  query.month = fields.Word("range", {"1h", "30d"}) == "30d";
  query.points = fields.IntegerOr("points", kMinPoints, kMaxPoints, kUsualPoints);
  query.series = SeriesOf(fields, query.tube.has_value());
  if (!fields.Finish()) return fields.problem();
  if (!query.tube && !call.caller.grant.SeesAll()) {
    return Problem{"forbidden", "it concerns the server: name a tube"};
  }
  if (query.tube) {
    const bool seen = call.caller.grant.Sees(*query.tube);
    if (!seen || call.engine().FindTube(*query.tube) == nullptr) return NoTube();
  }
  return OnSideThread(call.services.side, call.services.history.Read(std::move(query), call.now));
}

}  // namespace gearstalk::api
