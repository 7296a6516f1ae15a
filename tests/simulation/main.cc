// build/simulate: runs of the simulator. See docs/trust.md.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include "broker/commit.h"
#include "broker/engine/linear_hash.h"
#include "tests/simulation/world.h"

namespace {

std::mt19937_64 chance;  // of salts, jitter and seeds of hashes

}  // namespace

// Stands in for the library's, so that a run is the same each time.
std::random_device::result_type std::random_device::_M_getval() {
  return static_cast<result_type>(chance());
}

namespace gearstalk::simulation {
namespace {

constexpr const char* kUsage =
    "simulate --seeds N [--from M]    runs of N seeds, from M on\n"
    "         --for SECONDS           seeds for so long, of CPU\n"
    "         --seed S [--verbose]    one run\n"
    "         --shrink S              a shorter run of the seed that fails, too\n"
    "         --list FILE             the seeds of a file, a line each\n"
    "         --failures N            ends after so many (5)\n"
    "         --clients N, --brokers N, --length SECONDS, --without FEATURE,...   change the plan "
    "of "
    "each seed\n";

struct Wanted {
  std::uint64_t seeds = 0, from = 1;
  double seconds = 0;
  bool one = false, verbose = false, shrink = false;
  std::string list;
  int failures = 5;  // after so many it ends
  int clients = 0, brokers = 0;
  Time length = 0;
  std::uint32_t without = 0;
};

std::uint32_t FeaturesOf(std::string_view names) {
  std::uint32_t features = 0;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    int feature = 0;
    while (feature < kFeatures && kFeatureNames[feature] != name) ++feature;
    if (feature == kFeatures) {
      std::fprintf(stderr, "no such feature: %.*s\n", static_cast<int>(name.size()), name.data());
      std::exit(2);
    }
    features |= 1U << static_cast<unsigned>(feature);
  }
  return features;
}

Plan PlanOf(std::uint64_t seed, const Wanted& wanted) {
  Plan plan = Plan::OfSeed(seed);
  if (wanted.clients > 0) plan.clients = wanted.clients;
  if (wanted.brokers > 0) plan.brokers = wanted.brokers;
  if (wanted.length > 0) plan.length = wanted.length;
  plan.features &= ~wanted.without;
  return plan;
}

std::string Describe(const Plan& plan) {
  std::string text = "seed " + std::to_string(plan.seed) + ": " + std::to_string(plan.clients) +
                     " clients, " + std::to_string(plan.length / kSecond) + " s,";
  if (plan.Has(Feature::kReplicated)) text += " " + std::to_string(plan.brokers) + " brokers,";
  for (int feature = 0; feature < kFeatures; ++feature) {
    if (plan.Has(static_cast<Feature>(feature))) text += " " + std::string(kFeatureNames[feature]);
  }
  return text;
}

struct Result {
  std::string failure;
  Time elapsed = 0;
  std::uint64_t digest = 0;
};

Result RunOnce(const Plan& plan, bool verbose) {
  chance.seed(plan.seed);
  World world(plan, verbose);
  Result result;
  result.failure = world.Run();
  result.elapsed = world.elapsed();
  result.digest = world.digest();
  return result;
}

void TellFailure(const Plan& plan, const std::string& failure) {
  std::printf("%s\nFAILED: %s\nagain: simulate --seed %llu\n", Describe(plan).c_str(),
              failure.c_str(), static_cast<unsigned long long>(plan.seed));
  std::fflush(stdout);
}

// Fewer clients and brokers, less time, fewer features, as long as it fails.
int Shrink(Plan plan) {
  std::string failure = RunOnce(plan, false).failure;
  if (failure.empty()) {
    std::printf("%s: does not fail\n", Describe(plan).c_str());
    return 2;
  }
  const auto fails = [&](const Plan& smaller) {
    const std::string now = RunOnce(smaller, false).failure;
    if (now.empty()) return false;
    plan = smaller;
    failure = now;
    return true;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (int feature = 0; feature < kFeatures; ++feature) {
      Plan without = plan;
      without.features &= ~(1U << static_cast<unsigned>(feature));
      if (without.features != plan.features && fails(without)) smaller = true;
    }
    Plan alone = plan;
    alone.brokers = plan.brokers - 1;
    if (alone.brokers > 0 && fails(alone)) smaller = true;
    for (const int part : {2, 4, 8}) {
      Plan fewer = plan;
      fewer.clients -= std::max(1, plan.clients / part);
      if (fewer.clients > 0 && fails(fewer)) smaller = true;
      Plan shorter = plan;
      shorter.length -= plan.length / part;
      if (shorter.length >= kSecond / 10 && fails(shorter)) smaller = true;
    }
  }
  std::string without;
  for (int feature = 0; feature < kFeatures; ++feature) {
    if (plan.Has(static_cast<Feature>(feature))) continue;
    without += (without.empty() ? "" : ",") + std::string(kFeatureNames[feature]);
  }
  std::printf(
      "%s\nFAILED: %s\nagain: simulate --seed %llu --clients %d --brokers %d --length %.9f "
      "--without %s "
      "--verbose\n",
      Describe(plan).c_str(), failure.c_str(), static_cast<unsigned long long>(plan.seed),
      plan.clients, plan.brokers, Seconds(plan.length), without.c_str());
  return 1;
}

int RunOne(const Plan& plan, bool verbose) {
  std::printf("%s\n", Describe(plan).c_str());
  const Result result = RunOnce(plan, verbose);
  std::printf("%.1f s simulated, digest %016llx: %s\n", Seconds(result.elapsed),
              static_cast<unsigned long long>(result.digest),
              result.failure.empty() ? "as promised" : ("FAILED: " + result.failure).c_str());
  return result.failure.empty() ? 0 : 1;
}

int RunMany(const Wanted& wanted) {
  std::ifstream list(wanted.list);
  // Of CPU: what else the machine does is not counted.
  const auto spent = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  Time simulated = 0;
  std::uint64_t runs = 0;
  int failures = 0;
  for (std::uint64_t seed = wanted.from;; ++seed) {
    if (!wanted.list.empty() && !(list >> seed)) break;
    if (wanted.list.empty() && wanted.seconds == 0 && runs == wanted.seeds) break;
    if (wanted.seconds > 0 && spent() >= wanted.seconds) break;
    const Plan plan = PlanOf(seed, wanted);
    const Result result = RunOnce(plan, false);
    simulated += result.elapsed;
    ++runs;
    if (result.failure.empty()) continue;
    TellFailure(plan, result.failure);
    if (++failures == wanted.failures) break;
  }
  std::printf("%llu runs, %.0f s simulated in %.1f s of CPU: %.0f s a second; %d failed\n",
              static_cast<unsigned long long>(runs), Seconds(simulated), spent(),
              Seconds(simulated) / spent(), failures);
  return failures == 0 ? 0 : 1;
}

int Main(int count, char** arguments) {
  HashSeed();  // drawn once, before any run draws
  Wanted wanted;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&] { return i + 1 < count ? arguments[++i] : ""; };
    if (option == "--seeds")
      wanted.seeds = std::strtoull(value(), nullptr, 10);
    else if (option == "--from")
      wanted.from = std::strtoull(value(), nullptr, 10);
    else if (option == "--for")
      wanted.seconds = std::strtod(value(), nullptr);
    else if (option == "--seed")
      wanted.from = std::strtoull(value(), nullptr, 10), wanted.one = true;
    else if (option == "--shrink")
      wanted.from = std::strtoull(value(), nullptr, 10), wanted.shrink = true;
    else if (option == "--list")
      wanted.list = value();
    else if (option == "--failures")
      wanted.failures = std::atoi(value());
    else if (option == "--clients")
      wanted.clients = std::atoi(value());
    else if (option == "--brokers")
      wanted.brokers = std::atoi(value());
    else if (option == "--length")
      wanted.length = static_cast<Time>(std::strtod(value(), nullptr) * 1e9);
    else if (option == "--without")
      wanted.without = FeaturesOf(value());
    else if (option == "--verbose")
      wanted.verbose = true;
    else
      return std::fputs(kUsage, stderr), 2;
  }
  const bool many = wanted.seeds > 0 || wanted.seconds > 0 || !wanted.list.empty();
  if (!wanted.one && !wanted.shrink && !many) return std::fputs(kUsage, stderr), 2;
  const std::string first = std::to_string(wanted.from);
  const std::string seeds = !many                 ? "seed " + first
                            : wanted.list.empty() ? "seeds from " + first
                                                  : "seeds of " + wanted.list;
  std::printf("commit %s, %s\n", kCommit, seeds.c_str());
  std::fflush(stdout);
  if (wanted.one) return RunOne(PlanOf(wanted.from, wanted), wanted.verbose);
  if (wanted.shrink) return Shrink(PlanOf(wanted.from, wanted));
  return RunMany(wanted);
}

}  // namespace
}  // namespace gearstalk::simulation

int main(int count, char** arguments) { return gearstalk::simulation::Main(count, arguments); }
