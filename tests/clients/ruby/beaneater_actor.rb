# Does with Beaneater what standard input asks for (see bridge/actor.py). Arguments: HOST PORT.
require "beaneater"

BEAN = Beaneater.new(ARGV.fetch(0) + ":" + ARGV.fetch(1))

def decode(field)
  field.b.gsub(/%(..)/) { $1.hex.chr }
end

def encode(value)
  value.to_s.b.gsub(/[^A-Za-z0-9_.:\/$-]/) { |byte| format("%%%02X", byte.ord) }
end

def answer(*fields)
  puts "=" + fields.map { |field| encode(field) }.join("\t")
  $stdout.flush
end

def pairs(stats)
  stats.keys.map { |key| "#{key.tr('_', '-')}=#{stats[key]}" }
end

def job(id)
  BEAN.jobs.find(id) || raise(Beaneater::NotFoundError.new("NOT_FOUND", "peek"))
end

def peek(tube, state)
  found = BEAN.tubes[tube].peek(state)
  raise Beaneater::NotFoundError.new("NOT_FOUND", "peek") unless found

  [found.id, found.body]
end

def reserve(tube, seconds)
  BEAN.tubes.watch!(tube)
  reserved = BEAN.tubes.reserve(seconds.to_i)
  [reserved.id, reserved.body]
end

def put(tube, body, pri, delay, ttr)
  [BEAN.tubes[tube].put(body, pri: pri, delay: delay, ttr: ttr)[:id]]
end

def perform(verb, *args)
  case verb
  when "put" then put(*args)
  when "reserve" then reserve(*args)
  when "delete", "touch", "kick-job" then BEAN.connection.transmit("#{verb} #{args[0]}") && []
  when "release", "bury" then BEAN.connection.transmit("#{verb} #{args.join(' ')}") && []
  when "kick" then [BEAN.tubes[args[0]].kick(args[1])[:id]]
  when "peek-ready", "peek-delayed", "peek-buried" then peek(args[0], verb.delete_prefix("peek-"))
  when "stats-job" then pairs(job(args[0]).stats)
  when "stats-tube" then pairs(BEAN.tubes[args[0]].stats)
  when "stats" then pairs(BEAN.stats)
  when "pause" then BEAN.tubes[args[0]].pause(args[1]) && []
  when "list" then BEAN.tubes.all.map(&:name)
  else raise "unknown verb #{verb}"
  end
end

$stdin.each_line(chomp: true) do |line|
  answer("ok", *perform(*line.split("\t", -1).map { |field| decode(field) }))
rescue Beaneater::UnexpectedResponse => e
  answer("error", e.status)
end
