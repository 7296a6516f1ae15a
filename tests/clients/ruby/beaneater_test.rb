# Drives Beaneater's whole API. Arguments: HOST PORT.
require "beaneater"
require_relative "tap"

ADDRESS = ARGV.fetch(0) + ":" + ARGV.fetch(1)
TAP = Tap.new

STATS_KEYS = %w[
  current-jobs-urgent current-jobs-ready current-jobs-reserved current-jobs-delayed
  current-jobs-buried cmd-put cmd-peek cmd-peek-ready cmd-peek-delayed cmd-peek-buried cmd-reserve
  cmd-reserve-with-timeout cmd-delete cmd-release cmd-use cmd-watch cmd-ignore cmd-bury cmd-kick
  cmd-touch cmd-stats cmd-stats-job cmd-stats-tube cmd-list-tubes cmd-list-tube-used
  cmd-list-tubes-watched cmd-pause-tube job-timeouts total-jobs max-job-size current-tubes
  current-connections current-producers current-workers current-waiting total-connections pid
  version rusage-utime rusage-stime uptime binlog-oldest-index binlog-current-index
  binlog-records-migrated binlog-records-written binlog-max-size draining id hostname os platform
].map { |key| key.tr("-", "_") }
TUBE_KEYS = %w[
  name current_jobs_urgent current_jobs_ready current_jobs_reserved current_jobs_delayed
  current_jobs_buried total_jobs current_using current_watching current_waiting cmd_delete
  cmd_pause_tube pause pause_time_left
].freeze
JOB_KEYS = %w[
  id tube state pri age delay ttr time_left file reserves timeouts releases buries kicks
].freeze

def connect
  Beaneater.new(ADDRESS)
end

def check_put_and_reserve(bean)
  tube = bean.tubes["basic"]
  put = tube.put("hello")
  TAP.is "put answers INSERTED", put[:status], "INSERTED"
  TAP.ok "the id is a decimal number", put[:id] =~ /\A[1-9]\d*\z/
  job = tube.reserve(5)
  TAP.is "reserve-with-timeout delivers the id", job.id, put[:id]
  TAP.is "and the body", job.body, "hello"
  TAP.is "beaneater's default priority", job.pri, 65_536
  TAP.is "beaneater's default delay", job.delay, 0
  TAP.is "beaneater's default ttr", job.ttr, 120
  TAP.is "the job names its tube", job.tube, "basic"
  TAP.is "touch", job.touch[:status], "TOUCHED"
  TAP.ok "reserved?", job.reserved?
  TAP.is "delete", job.delete[:status], "DELETED"
  TAP.is "the job is gone", job.exists?, false
  TAP.raises("a second delete", Beaneater::NotFoundError) { job.delete }
end

def check_bodies(bean)
  tube = bean.tubes["bodies"]
  {
    "an empty body" => "",
    "every byte" => (0..255).map(&:chr).join.b,
    "CRLF in the body" => "a\r\nb\r\n",
    "a body that looks like a reply" => "RESERVED 1 5\r\nNOT_FOUND\r\n",
    "65535 bytes" => "x" * 65_535
  }.each do |name, body|
    tube.put(body)
    job = tube.reserve(5)
    TAP.ok "#{name} comes back unchanged", job.body.b == body.b
    job.delete
  end
  TAP.raises("65536 bytes are JOB_TOO_BIG", Beaneater::JobTooBigError) { tube.put("x" * 65_536) }
  TAP.is "and the connection goes on", tube.put("after")[:status], "INSERTED"
  tube.clear
end

def check_tubes(bean)
  TAP.is "a connection watches default", bean.tubes.watched.map(&:name), ["default"]
  TAP.is "and uses default", bean.tubes.used.name, "default"
  bean.tubes.use("one")
  TAP.is "use", bean.tubes.used.name, "one"
  bean.tubes.watch("one", "two", "two")
  TAP.is "watch adds and does not repeat", bean.tubes.watched.map(&:name).sort, %w[default one two]
  TAP.is "list-tubes knows them all",
         %w[default one two] - bean.tubes.all.map(&:name), []
  TAP.ok "Tubes is enumerable", bean.tubes.any? { |tube| tube.name == "two" }
  bean.tubes.watch!("three")
  TAP.is "watch! leaves only what it names", bean.tubes.watched.map(&:name), ["three"]
  TAP.raises("the last tube cannot be ignored", Beaneater::NotIgnoredError) do
    bean.tubes.ignore("three")
  end
  bean.tubes.watch("default")
  bean.tubes.ignore("three")
  TAP.is "ignore", bean.tubes.watched.map(&:name), ["default"]
  TAP.is "a tube nobody needs disappears",
         bean.tubes.all.map(&:name) & %w[two three], []
  TAP.raises("a bad name for use", Beaneater::InvalidTubeName) { bean.tubes.use("-bad") }
  TAP.raises("a bad name for watch", Beaneater::InvalidTubeName) { bean.tubes.watch("n" * 201) }
  longest = "A-+/;.$_()z9" + "n" * 188
  bean.tubes.use(longest)
  TAP.is "200 bytes of the whole alphabet", bean.tubes.used.name, longest
  bean.tubes.use("default")
end

def check_numeric_tube_name(bean)
  bean.tubes["12"].put("n")
  TAP.ours_only("a tube called 12 stays a string in stats-tube", "1.12 does not quote names") do
    TAP.is "a tube called 12 stays a string in stats-tube", bean.tubes["12"].stats.name, "12"
  end
  bean.tubes["12"].clear
end

def check_order(bean)
  tube = bean.tubes["order"]
  { "late" => 2000, "first" => 0, "second" => 10, "also second" => 10, "last" => 4_294_967_295 }
    .each { |body, pri| tube.put(body, pri: pri) }
  TAP.is "peek-ready shows the most urgent", tube.peek(:ready).body, "first"
  TAP.is "urgent means below 1024", tube.stats.current_jobs_urgent, 3
  got = Array.new(5) { tube.reserve(5).tap(&:delete).body }
  TAP.is "priority first, then age", got, ["first", "second", "also second", "late", "last"]
end

def check_release_and_delay(bean)
  tube = bean.tubes["release"]
  tube.put("again")
  job = tube.reserve(5)
  TAP.is "release", job.release(pri: 5, delay: 0)[:status], "RELEASED"
  again = tube.reserve(5)
  TAP.is "a released job comes back", again.id, job.id
  TAP.is "with its new priority", again.pri, 5
  TAP.is "releases is counted", again.stats.releases, 1
  again.release(delay: 1000)
  TAP.is "peek-delayed", tube.peek(:delayed).id, job.id
  TAP.is "its state", bean.jobs[job.id].stats.state, "delayed"
  TAP.raises("a delayed job cannot be released", Beaneater::JobNotReserved) do
    bean.jobs[job.id].release
  end
  TAP.is "kick moves a delayed job", tube.kick(5)[:id], "1"
  TAP.is "to ready", tube.peek(:ready).id, job.id
  tube.reserve(5).delete
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  tube.put("due", delay: 2)
  TAP.is "a job with a delay is delivered", tube.reserve(120).tap(&:delete).body, "due"
  TAP.ok "when due", Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun >= 1.9
end

def check_bury_and_kick(bean)
  tube = bean.tubes["bury"]
  3.times { |n| tube.put("b#{n}", pri: 10 - n) }
  ids = Array.new(3) { tube.reserve(5).tap { |job| job.bury(pri: 77) }.id }
  TAP.is "peek-buried shows the first buried", tube.peek(:buried).id, ids[0]
  TAP.is "bury sets the priority", bean.jobs.find(ids[0]).pri, 77
  TAP.is "state buried", bean.jobs.find(ids[0]).stats.state, "buried"
  TAP.is "kick takes at most its bound", tube.kick(2)[:id], "2"
  TAP.is "one stays buried", tube.stats.current_jobs_buried, 1
  TAP.is "kick-job", bean.jobs.find(ids[2]).kick[:status], "KICKED"
  TAP.is "kicks is counted", bean.jobs.find(ids[2]).stats.kicks, 1
  TAP.raises("kick-job of a ready job", Beaneater::NotFoundError) { bean.jobs.find(ids[2]).kick }
  TAP.is "nothing left to kick", tube.kick[:id], "0"
  TAP.is "a buried job can be deleted", begin
    tube.reserve(5).tap(&:bury).delete[:status]
  end, "DELETED"
  tube.clear
  TAP.is "clear empties the tube", tube.stats.current_jobs_ready, 0
end

def check_peeking(bean)
  tube = bean.tubes["peek"]
  %i[ready delayed buried].each { |state| TAP.is "peek-#{state} of nothing", tube.peek(state), nil }
  id = tube.put("look")[:id]
  TAP.is "peek by id", bean.jobs.peek(id).body, "look"
  TAP.is "jobs.find of nothing", bean.jobs.find(99_999_999), nil
  reserved = bean.connection.transmit("reserve-job #{id}")
  TAP.is "reserve-job",
         [reserved[:status], reserved[:id], reserved[:body]], ["RESERVED", id, "look"]
  TAP.raises("reserve-job of a reserved job", Beaneater::NotFoundError) do
    bean.connection.transmit("reserve-job #{id}")
  end
  bean.jobs[id].delete
end

def check_waiting(bean)
  tube = bean.tubes["waiting"]
  TAP.raises("reserve-with-timeout 0 on nothing", Beaneater::TimedOutError) { tube.reserve(0) }
  TAP.raises("reserve-with-timeout 1 on nothing", Beaneater::TimedOutError) { tube.reserve(1) }
  consumer = Thread.new { connect.tubes["waiting"].reserve.tap(&:delete).body }
  TAP.ok "a consumer waits", eventually { tube.stats.current_waiting == 1 }
  TAP.is "stats counts it", bean.stats.current_waiting, 1
  tube.put("wake up")
  TAP.is "a waiting consumer is served", consumer.value, "wake up"
  TAP.is "reserve runs its block", begin
    tube.put("block")
    seen = nil
    tube.reserve(5) { |job| seen = job.body }.delete
    seen
  end, "block"
end

# Or the job came back: somebody slept through its last second.
def deadline_soon?(tube)
  tube.reserve(5) && false
rescue Beaneater::DeadlineSoonError
  true
end

def check_time_to_run(bean)
  tube = bean.tubes["ttr"]
  tube.put("short", ttr: 2)
  job = tube.reserve(5)
  TAP.ok "DEADLINE_SOON in the last second", eventually { deadline_soon?(tube) }
  job.delete
  tube.put("short", ttr: 1)
  job = tube.reserve(5)
  TAP.ok "an expired job is ready again", eventually { job.stats.state == "ready" }
  TAP.is "timeouts is counted", job.stats.timeouts, 1
  TAP.raises("a late touch", Beaneater::NotFoundError) do
    bean.connection.transmit("touch #{job.id}")
  end
  TAP.is "a late delete succeeds", job.delete[:status], "DELETED"
  name = "a silent holder loses its job in time"
  TAP.ours_only(name, "1.12 forgets deadlines of silent holders") do
    tube.put("silent", ttr: 1)
    held = tube.reserve(5)
    other = connect
    TAP.is name, other.tubes["ttr"].reserve(120).tap(&:delete).id, held.id
    other.close
  end
end

def check_other_connections(bean)
  tube = bean.tubes["others"]
  tube.put("mine")
  job = tube.reserve(5)
  other = connect
  foreign = other.jobs[job.id]
  TAP.is "peek shows a job that another connection reserved", foreign.body, "mine"
  TAP.raises("another connection cannot delete it", Beaneater::NotFoundError) { foreign.delete }
  TAP.raises("nor bury it", Beaneater::NotFoundError) do
    other.connection.transmit("bury #{job.id} 0")
  end
  TAP.raises("nor release it", Beaneater::NotFoundError) do
    other.connection.transmit("release #{job.id} 0 0")
  end
  other.tubes["others"].put("theirs")
  held = other.tubes["others"].reserve(5)
  other.close
  TAP.is "a closed connection gives its jobs back", tube.reserve(120).id, held.id
  stats = held.client.equal?(other) && bean.jobs[held.id].stats
  TAP.is "neither a release nor a timeout", [stats.releases, stats.timeouts], [0, 0]
  bean.jobs[held.id].delete
  job.delete
end

def check_pausing(bean)
  tube = bean.tubes["paused"]
  tube.put("patience")
  TAP.is "pause-tube", tube.pause(1000)[:status], "PAUSED"
  TAP.is "pause shows its length", tube.stats.pause, 1000
  TAP.ok "and what is left", tube.stats.pause_time_left.between?(900, 1000)
  TAP.is "the pause is counted", tube.stats.cmd_pause_tube, 1
  TAP.raises("a paused tube delivers nothing", Beaneater::TimedOutError) { tube.reserve(0) }
  tube.pause(1)
  TAP.is "a waiting consumer is served when the pause ends",
         tube.reserve(120).tap(&:delete).body, "patience"
  TAP.raises("pause of an unknown tube", Beaneater::NotFoundError) { bean.tubes["nobody"].pause(1) }
end

def check_statistics(bean)
  before = bean.stats.cmd_put
  id = bean.tubes["numbers"].put("n", pri: 3, delay: 500, ttr: 7)[:id]
  TAP.is "stats counts a put", bean.stats.cmd_put, before + 1
  TAP.is "the 51 keys of stats in their order", bean.stats.keys.first(51), STATS_KEYS
  stats = bean.stats
  strings = %w[version id hostname os platform rusage_utime rusage_stime draining]
  odd = (STATS_KEYS - strings).reject { |key| stats[key].is_a?(Integer) }
  TAP.is "counters are integers", odd, []
  TAP.ok "rusage is decimal", %w[rusage_utime rusage_stime].all? { |key| stats[key].is_a?(Float) }
  TAP.is "draining", stats.draining, false
  TAP.is "max-job-size", stats.max_job_size, 65_535
  TAP.ok "pid names a process", Process.kill(0, stats.pid)
  tube = bean.tubes["numbers"].stats
  TAP.is "the 14 keys of stats-tube in their order", tube.keys.first(14), TUBE_KEYS
  TAP.is "its counts", [tube.current_jobs_delayed, tube.total_jobs, tube.current_using], [1, 1, 1]
  job = bean.jobs[id].stats
  TAP.is "the 14 keys of stats-job in their order", job.keys.first(14), JOB_KEYS
  TAP.is "its values", [job.id, job.tube, job.state, job.pri, job.delay, job.ttr],
         [id.to_i, "numbers", "delayed", 3, 500, 7]
  TAP.raises("stats of an unknown tube", Beaneater::NotFoundError) { bean.tubes["nobody"].stats }
  bean.jobs[id].delete
end

def check_errors(bean)
  TAP.raises("UNKNOWN_COMMAND", Beaneater::UnknownCommandError) do
    bean.connection.transmit("nonsense")
  end
  TAP.raises("BAD_FORMAT", Beaneater::BadFormatError) { bean.connection.transmit("put a b c d") }
  TAP.raises("EXPECTED_CRLF", Beaneater::ExpectedCrlfError) do
    bean.connection.transmit("put 0 0 1 2\r\nabcd")
  end
rescue Beaneater::UnexpectedResponse => e
  TAP.ok "errors", false, e.inspect
ensure
  bean.close
end

def check_process_jobs
  bean = connect
  tried = Hash.new(0)
  bean.jobs.register("work.good") { |job| tried[job.body] += 1 }
  bean.jobs.register("work.flaky", retry_on: [IOError], max_retries: 2) do |job|
    tried[job.body] += 1
    raise IOError, "not yet"
  end
  bean.jobs.register("work.bad") do |job|
    tried[job.body] += 1
    raise "broken"
  end
  bean.jobs.register("work.stop") { |job| tried[job.body] += 1; bean.jobs.stop! }
  bean.tubes["work.good"].put("good", pri: 1)
  flaky = bean.tubes["work.flaky"].put("flaky", pri: 2)[:id]
  bad = bean.tubes["work.bad"].put("bad", pri: 3)[:id]
  bean.tubes["work.stop"].put("stop", pri: 4)
  bean.jobs.process!(release_delay: 0, reserve_timeout: 1)
  TAP.is "process! runs every job", tried, { "good" => 1, "flaky" => 3, "bad" => 1, "stop" => 1 }
  TAP.is "what fails for good is buried",
         [flaky, bad].map { |id| bean.jobs[id].stats.state }, %w[buried buried]
  TAP.is "after its retries", bean.jobs[flaky].stats.releases, 2
  bean.close
end

def check_serializer(bean)
  Beaneater.configure do |config|
    config.job_serializer = ->(body) { "<#{body}>" }
    config.job_parser = ->(body) { body[1..-2] }
  end
  bean.tubes["parsed"].put("inner")
  TAP.is "serializer and parser", bean.tubes["parsed"].reserve(5).tap(&:delete).body, "inner"
ensure
  Beaneater.configure do |config|
    config.job_serializer = config.job_parser = ->(body) { body }
  end
end

def check_reconnecting
  bean = connect
  bean.tubes.watch("again")
  bean.tubes.use("again")
  bean.connection.connection.shutdown(Socket::SHUT_RDWR)
  TAP.is "a cut connection is made again and the command repeated",
         bean.tubes["again"].put("twice")[:status], "INSERTED"
  TAP.ok "with its watch list", bean.tubes.watched.map(&:name).include?("again")
  TAP.is "and the tube in use", bean.tubes.used.name, "again"
  bean.tubes["again"].clear
  bean.close
end

def check_draining
  bean = connect
  pid = bean.stats.pid
  id = bean.tubes["drain"].put("before")[:id]
  Process.kill(:USR1, pid)
  TAP.ok "SIGUSR1 starts draining", eventually { bean.stats.draining == true }
  TAP.is "work goes on", bean.tubes["drain"].reserve(5).tap(&:delete).id, id
  TAP.raises("a put is refused, also when repeated", Beaneater::DrainingError) do
    bean.tubes["drain"].put("late")
  end
end

bean = connect
check_put_and_reserve(bean)
check_bodies(bean)
check_tubes(connect)
check_numeric_tube_name(bean)
check_order(bean)
check_release_and_delay(bean)
check_bury_and_kick(bean)
check_peeking(bean)
check_waiting(bean)
check_time_to_run(bean)
check_other_connections(bean)
check_pausing(bean)
check_statistics(bean)
check_serializer(bean)
check_process_jobs
check_reconnecting
check_errors(connect)
check_draining
TAP.finish
