#include "tests/bench/load/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <map>

namespace gearstalk::bench {

namespace {

const std::map<std::string, Protocol> kProtocols = {{"beanstalk", Protocol::kBeanstalk},
                                                    {"gearman", Protocol::kGearman}};

const std::map<std::string, Workload> kWorkloads = {
    {"cycle", Workload::kCycle}, {"foreground", Workload::kForeground}, {"store", Workload::kStore},
    {"drain", Workload::kDrain}, {"churn", Workload::kChurn},           {"idle", Workload::kIdle}};

void AddServer(CLI::App& app, Options& options) {
  app.add_option("protocol", options.protocol, "beanstalk or gearman")
      ->required()
      ->transform(CLI::CheckedTransformer(kProtocols));
  app.add_flag("--mixed", options.mixed,
               "every other producer and consumer speaks the other protocol");
  app.add_option("workload", options.workload, "cycle, foreground, store, drain, churn or idle")
      ->required()
      ->transform(CLI::CheckedTransformer(kWorkloads));
  app.add_option("--server", options.server, "HOST:PORT of the running server")->required();
  app.add_option("--pid", options.pid, "its process")->required();
  app.add_option("--router", options.routers, "a process that holds the server's sockets");
  app.add_flag("--tls", options.tls, "producers and consumers speak TLS");
  app.add_flag("--pin-apart", options.pin_apart,
               "keep server and routers on the first CPU and the load on the second");
}

void AddExtent(CLI::App& app, Options& options) {
  app.add_option("--ops", options.ops, "measure this many jobs");
  app.add_option("--seconds", options.seconds, "measure this long, unless --ops is given");
  app.add_option("--warm-up", options.warm_up, "seconds of load before that, not with --ops");
  app.add_flag("--steps", options.steps, "measure once for each line on standard input");
  app.add_option("--limit", options.limit_seconds, "seconds until the program is killed");
  app.add_option("--fill-limit", options.fill_limit_seconds,
                 "seconds after which a backlog stays as large as it is");
}

void AddLoad(CLI::App& app, Options& options) {
  app.add_option("--producers", options.producers, "connections that store jobs");
  app.add_option("--consumers", options.consumers, "connections that take them");
  app.add_option("--depth", options.depth,
                 "jobs asked for or stored on each connection without an answer yet");
  app.add_option("--body", options.body_bytes, "bytes of a job");
  app.add_option("--tubes", options.tubes, "tubes or functions of the load, taken from by all");
  app.add_flag("--random-priorities", options.random_priorities, "each job has its own");
  app.add_flag("--unique-keys", options.unique_keys, "each job has its own, of Gearman");
  app.add_option("--groups", options.groups,
                 "bodies are JSON with a `customer`, one of so many after the other");
  app.add_flag("--sleep", options.sleep, "workers sleep between jobs");
  app.add_option("--held", options.held, "jobs each consumer keeps reserved, of beanstalk");
  app.add_option("--rate", options.rate, "jobs per second; without it as many as possible");
  app.add_flag("--filled", options.filled, "drain what is there instead of storing it first");
  app.add_flag(
      "--verify", options.verify,
      "bodies of which each byte is known: fail unless each comes whole, once and in order");
}

void AddSurroundings(CLI::App& app, Options& options) {
  app.add_option("--idle", options.idle, "silent connections");
  app.add_option("--idle-protocol", options.idle_protocol, "what they spoke once")
      ->transform(CLI::CheckedTransformer(kProtocols));
  app.add_option("--backlog", options.backlog, "ready jobs");
  app.add_option("--backlog-tubes", options.backlog_tubes, "other tubes they are in; 0: the same");
  app.add_option("--delayed", options.delayed, "jobs that are not due");
  app.add_option("--delayed-tubes", options.delayed_tubes, "other tubes they are in; 0: the same");
  app.add_option("--due", options.due, "jobs in another tube that become due in one second");
  app.add_option("--due-in", options.due_in_seconds, "seconds until then, enough to store them");
  app.add_option("--ask", options.questions, "list to ask for meanwhile, such as `stats`");
  app.add_option("--ask-every", options.ask_every_ms, "milliseconds between two questions");
  app.add_option("--burst", options.burst, "commands one more client pipelines each second");
}

// Their jobs would be wrong, or twice there, or wait with a consumer.
void RefuseBesideVerify(CLI::App& app) {
  for (const char* other : {"--groups", "--held", "--backlog", "--delayed", "--due"}) {
    app.get_option("--verify")->excludes(app.get_option(other));
  }
}

}  // namespace

Protocol ProtocolOf(const Options& options, int index) {
  if (!options.mixed || index % 2 == 0) return options.protocol;
  return options.protocol == Protocol::kBeanstalk ? Protocol::kGearman : Protocol::kBeanstalk;
}

Options ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app("Drives a running job server and prints what it used as lines of JSON.", "load");
  AddServer(app, options);
  AddExtent(app, options);
  AddLoad(app, options);
  AddSurroundings(app, options);
  RefuseBesideVerify(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace gearstalk::bench
