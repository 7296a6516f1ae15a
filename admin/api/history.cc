#include "admin/api/history.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "admin/api/answers.h"
#include "admin/api/history_file.h"
#include "admin/api/routes.h"
#include "admin/api/side_thread.h"
#include "admin/metrics/job_metrics.h"
#include "admin/metrics/metrics.h"
#include "broker/base/split.h"
#include "broker/engine/slab.h"

namespace gearstalk::api {
namespace {

constexpr Time kSurveyPeriod = 10 * kSecond;
constexpr std::size_t kMinute = 60;     // samples of the server
constexpr std::size_t kPeaksFrom = 18;  // loop_lag_seconds_max and journal_sync_seconds_max

// The 99th percentile of counts by bucket: the upper bound of its bucket.
template <typename Counts, typename Bounds>
Json P99(const Counts& counts, const Bounds& bounds) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts) all += count;
  if (all == 0) return {};
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (seen * 100 >= all * 99) return Seconds(bounds[std::min(i, bounds.size() - 1)]);
  }
  return {};
}

// Adds the counts of this second, and keeps those of a minute.
template <typename Counts>
void KeepMinute(std::deque<Counts>& minute, const Counts& now) {
  minute.push_back(now);
  if (minute.size() > kMinute) minute.pop_front();
}

// What was counted within the minute. A journal that is opened anew counts from 0.
template <typename Counts>
Counts Since(const std::deque<Counts>& minute, Counts now) {
  if (minute.size() < kMinute) return now;
  for (std::size_t i = 0; i < now.size(); ++i) now[i] -= std::min(now[i], minute.front()[i]);
  return now;
}

float PerSecond(std::uint64_t now, std::uint64_t before, double seconds) {
  return seconds <= 0 || now < before
             ? 0
             : static_cast<float>(static_cast<double>(now - before) / seconds);
}

// The six rates, behind the four numbers of jobs.
void FillRates(const JobCounts& now, const JobCounts& before, double seconds,
               std::span<float> sample) {
  constexpr std::uint64_t JobCounts::*kRates[] = {&JobCounts::total_jobs, &JobCounts::reserves,
                                                  &JobCounts::completed,  &JobCounts::deletes,
                                                  &JobCounts::failed,     &JobCounts::timeouts};
  for (std::size_t i = 0; i < std::size(kRates); ++i) {
    sample[4 + i] = PerSecond(now.*kRates[i], before.*kRates[i], seconds);
  }
}

float AsFloat(std::uint64_t number) { return static_cast<float>(number); }

constexpr std::uint64_t kUsualPoints = 360;

// Words separated by commas; without any, the four numbers of jobs.
std::vector<std::size_t> SeriesOf(Fields& fields, bool of_tube) {
  const std::string text =
      fields.Text("series").value_or("jobs_ready,jobs_reserved,jobs_delayed,jobs_buried");
  std::vector<std::size_t> series;
  for (const std::string_view word : Split(text, ',')) {
    const auto found = std::find(std::begin(kSeries), std::end(kSeries), word);
    const auto place = static_cast<std::size_t>(found - std::begin(kSeries));
    if (place >= (of_tube ? kTubeSeries : kServerSeries)) {
      fields.Fail("series", of_tube ? "unknown, or not kept of tubes" : "unknown");
      break;
    }
    if (std::find(series.begin(), series.end(), place) == series.end()) series.push_back(place);
  }
  return series;
}

// The mean or the maximum of some steps; null where no step has a value.
Json Combine(const Ring& ring, std::int64_t from, std::int64_t end, std::size_t series) {
  double sum = 0;
  double most = 0;
  int known = 0;
  for (std::int64_t step = from; step < end; ++step) {
    const float value = ring.At(step, series);
    if (std::isnan(value)) continue;
    sum += static_cast<double>(value);
    most = std::max(most, static_cast<double>(value));
    ++known;
  }
  if (known == 0) return {};
  return ring.IsPeak(series) ? most : sum / known;
}

std::string ChartOf(const Ring& ring, const History::Query& query, Time now) {
  const std::int64_t newest = now / ring.step() - 1;
  const auto steps = static_cast<std::int64_t>(ring.steps());
  const auto points = static_cast<std::int64_t>(query.points);
  const std::int64_t oldest = std::max(ring.first(), newest - steps + 1);
  const std::int64_t each = std::max<std::int64_t>(1, (newest - oldest + points) / points);
  Json times = Json::array();
  Json series = Json::object();
  for (const std::size_t which : query.series) series[std::string(kSeries[which])] = Json::array();
  if (ring.last() >= ring.first()) {
    // Groups stand at multiples of their size, so that points do not move from call to call. One
    // that is not over has no mean yet.
    for (std::int64_t at = oldest / each * each; at + each - 1 <= newest; at += each) {
      times.push_back(at * (ring.step() / kSecond));
      for (const std::size_t which : query.series) {
        series[std::string(kSeries[which])].push_back(Combine(ring, at, at + each, which));
      }
    }
  }
  return Dump({{"range", query.month ? "30d" : "1h"},
               {"step_seconds", each * (ring.step() / kSecond)},
               {"tube", query.tube ? Json(TextOf(*query.tube)) : Json()},
               {"times", std::move(times)},
               {"series", std::move(series)}});
}

}  // namespace

History::History(const Engine& engine, const ConnectionList& connections, Attention& attention,
                 SliceQueue& slices, const std::string& file)
    : engine_(engine), connections_(connections), attention_(attention), slices_(slices) {
  hour_.KeepPeaks(kPeaksFrom);
  month_.KeepPeaks(kPeaksFrom);
  if (!file.empty()) OpenFile(file);
}

// Tubes have no ids yet: the next survey finds them by name.
void History::OpenFile(const std::string& path) {
  const auto place_of = [this](std::size_t place) -> TubeHistory& {
    while (tubes_.size() <= place) tubes_.push_back(std::make_unique<TubeHistory>());
    return *tubes_[place];
  };
  file_ = HistoryFile::Open(
      path,
      {.server = [this](std::int64_t step,
                        std::span<const float> sample) { month_.Put(step, sample); },
       .name = [&](std::size_t place, std::string_view name) { place_of(place).name = name; },
       .tube = [&](std::size_t place, std::int64_t step,
                   std::span<const float> sample) { place_of(place).month.Put(step, sample); }});
  kept_step_ = month_.last();
}

// Writes the steps that are complete to the file.
void History::Keep() {
  if (file_ == nullptr) return;
  if (month_.last() > kept_step_ && month_.last() >= month_.first()) {
    kept_step_ = month_.last();
    file_->PutServer(kept_step_, month_.Step(kept_step_));
  }
  std::int64_t hour = 0;
  for (const auto& tube : tubes_) hour = std::max(hour, tube->month.last());
  if (hour <= kept_hour_) return;
  kept_hour_ = hour;
  std::vector<float> samples(kTubesKept * kTubeSeries, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t place = 0; place < tubes_.size(); ++place) {
    const Ring& month = tubes_[place]->month;
    if (month.last() != hour) continue;
    const std::span<const float> sample = month.Step(hour);
    std::copy(sample.begin(), sample.end(),
              samples.begin() + static_cast<std::ptrdiff_t>(place * kTubeSeries));
  }
  file_->PutTubes(hour, samples);
}

History::~History() { slices_.Remove(*this); }

Time History::Tick(Time now) {
  const Time due = lag_.Note(now);
  if (now >= next_sample_) {
    SampleServer(now);
    next_sample_ = (now / kSecond + 1) * kSecond;
  }
  if (now >= next_survey_ && survey_ == nullptr) {
    next_survey_ = (now / kSurveyPeriod + 1) * kSurveyPeriod;
    attention_.Begin(now);
    surveyed_ = false;
    survey_ = std::make_unique<TubeSurvey>(engine_, kTubesKept, now, heat_,
                                           [this](const Tube& tube) { attention_.Look(tube); });
    slices_.Add(*this);
  }
  return std::min(due, next_sample_);
}

void History::SampleServer(Time now) {
  const EngineStats stats = engine_.Stats();
  const double seconds = last_.at == 0 ? 0 : Seconds(now - last_.at);
  ServerSample sample{AsFloat(stats.ready), AsFloat(stats.reserved), AsFloat(stats.delayed),
                      AsFloat(stats.buried)};
  FillRates(stats, last_.counts, seconds, sample);
  const float others[] = {static_cast<float>(OldestReadyAge(now).value_or(0)),
                          AsFloat(connections_.Count()),
                          AsFloat(stats.workers),
                          AsFloat(stats.waiting),
                          AsFloat(stats.tubes),
                          AsFloat(JobMemory()),
                          AsFloat(ResidentBytes()),
                          CpuRatio(now),
                          static_cast<float>(Seconds(lag_.TakeLongest())),
                          SyncMax()};
  std::copy(std::begin(others), std::end(others), sample.begin() + 10);
  last_ = {stats, now};
  hour_.Add(now, sample);
  month_.Add(now, sample);
  Keep();
  KeepMinute(lag_minute_, lag_.lags().counts());
  KeepMinute(sync_minute_, engine_.journal().Stats().sync_times.counts());
}

float History::CpuRatio(Time now) {
  const double used = CpuSeconds();
  const double before = std::exchange(cpu_seconds_, used);
  const double passed = last_.at == 0 ? 0 : Seconds(now - last_.at);
  return passed <= 0 ? 0 : static_cast<float>((used - before) / passed);
}

// The upper bound of the longest sync since the last sample.
float History::SyncMax() {
  const SyncTimes times = engine_.journal().Stats().sync_times;
  float most = 0;
  for (std::size_t i = 0; i < times.counts().size(); ++i) {
    if (times.counts()[i] == syncs_.counts()[i]) continue;
    most =
        static_cast<float>(Seconds(SyncTimes::kBounds[std::min(i, SyncTimes::kBounds.size() - 1)]));
  }
  syncs_ = times;
  return most;
}

bool History::RunSlice(Time now) {
  if (!surveyed_) {
    surveyed_ = !survey_->Advance();
    return true;
  }
  if (attention_.LookAtSchedules()) return true;
  EndSurvey(now);
  return false;
}

void History::EndSurvey(Time now) {
  heat_ = survey_->heat();
  const Time oldest = survey_->oldest_ready();
  oldest_ready_ = engine_.Stats().ready == 0 ? 0 : oldest;
  const std::vector<std::uint64_t> busiest = survey_->Busiest();
  survey_.reset();
  for (const auto& each : tubes_) {
    each->busy = each->id != 0 && std::binary_search(busiest.begin(), busiest.end(), each->id);
  }
  for (const std::uint64_t id : busiest) {
    if (const Tube* const tube = TubeOfId(engine_, id)) HistoryOf(*tube).busy = true;
  }
  SampleTubes(now);
}

// Continues the history of a tube of the same name; else takes the place of a tube that is not
// busy.
History::TubeHistory& History::HistoryOf(const Tube& tube) {
  std::size_t place = tubes_.size();
  for (std::size_t i = 0; i < tubes_.size(); ++i) {
    TubeHistory& each = *tubes_[i];
    if (each.name == tube.name() && !each.name.empty()) {
      if (each.id != tube.id()) each.last = {};
      each.id = tube.id();
      return each;
    }
    if (!each.busy) place = std::min(place, i);
  }
  if (tubes_.size() < kTubesKept) place = tubes_.size();
  if (place == tubes_.size()) tubes_.emplace_back();
  tubes_[place] = std::make_unique<TubeHistory>();
  tubes_[place]->id = tube.id();
  tubes_[place]->name = tube.name();
  if (file_ != nullptr) file_->PutName(place, month_.last() / 12, tube.name());
  return *tubes_[place];
}

void History::SampleTubes(Time now) {
  for (const auto& each : tubes_) {
    const Tube* const tube = each->id == 0 ? nullptr : TubeOfId(engine_, each->id);
    if (tube == nullptr) continue;
    TubeSample sample{AsFloat(tube->ready()), AsFloat(tube->reserved()), AsFloat(tube->delayed()),
                      AsFloat(tube->buried())};
    const double seconds = each->last.at == 0 ? 0 : Seconds(now - each->last.at);
    FillRates(*tube, each->last.counts, seconds, sample);
    sample[10] = static_cast<float>(gearstalk::OldestReadyAge(*tube, now).value_or(0));
    each->last = {*tube, now};
    each->hour.Add(now, sample);
    each->month.Add(now, sample);
  }
}

std::optional<double> History::OldestReadyAge(Time now) const {
  if (oldest_ready_ == 0 || engine_.Stats().ready == 0) return std::nullopt;
  return Age(now, oldest_ready_);
}

Json History::LagP99() const {
  return P99(Since(lag_minute_, lag_.lags().counts()), TimeHistogram::kBounds);
}

Json History::SyncP99() const {
  return P99(Since(sync_minute_, engine_.journal().Stats().sync_times.counts()),
             SyncTimes::kBounds);
}

const History::TubeHistory* History::Find(std::string_view tube) const {
  const auto found = std::find_if(tubes_.begin(), tubes_.end(),
                                  [&](const auto& each) { return each->name == tube; });
  return found == tubes_.end() ? nullptr : found->get();
}

// The loop only copies a ring, 700 KB at most; the side thread does the rest.
std::function<std::string()> History::Read(Query query, Time now) const {
  const Ring none(query.month ? 3600 * kSecond : 10 * kSecond, 1, kTubeSeries);
  const TubeHistory* const tube = query.tube ? Find(*query.tube) : nullptr;
  const Ring& ring = !query.tube       ? (query.month ? month_ : hour_)
                     : tube == nullptr ? none
                                       : (query.month ? tube->month : tube->hour);
  return [ring, query = std::move(query), now] { return ChartOf(ring, query, now); };
}

Reply GetHistory(Call& call) {
  History::Query query;
  query.tube = call.fields.Bytes("tube");
  query.month = call.fields.Word("range", {"1h", "30d"}) == "30d";
  query.points = call.fields.IntegerOr("points", kMinPoints, kMaxPoints, kUsualPoints);
  query.series = SeriesOf(call.fields, query.tube.has_value());
  if (!call.fields.Finish()) return call.fields.problem();
  if (!query.tube && !call.caller.grant.SeesAll()) {
    return Problem{"forbidden", "it concerns the server: name a tube"};
  }
  if (query.tube) {
    const bool seen = call.caller.grant.Sees(*query.tube);
    if (!seen || call.engine().FindTube(*query.tube) == nullptr) return NoSuch("tube");
  }
  return OnSideThread(call.services.side, call.services.history.Read(std::move(query), call.now));
}

}  // namespace gearstalk::api
