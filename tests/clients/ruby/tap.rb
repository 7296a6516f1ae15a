# Prints one TAP line per check.
class Tap
  REFERENCE = ENV["GEARSTALK_REFERENCE"] == "1"

  def initialize
    @count = 0
    @failed = 0
  end

  def ok(name, passed, note = nil)
    @count += 1
    @failed += 1 unless passed
    puts "#{passed ? '' : 'not '}ok #{@count} - #{name}"
    puts note.to_s.gsub(/^/, "# ") if note && !passed
    $stdout.flush
    passed
  end

  def is(name, got, want)
    ok(name, got == want, "got  #{got.inspect}\nwant #{want.inspect}")
  end

  def raises(name, error)
    yield
    ok(name, false, "nothing raised")
  rescue StandardError => e
    ok(name, e.is_a?(error), "raised #{e.inspect}")
  end

  # A check that the reference server is known to fail.
  def ours_only(name, reason)
    return yield unless REFERENCE

    @count += 1
    puts "ok #{@count} - #{name} # skip ours only: #{reason}"
  end

  def finish
    puts "1..#{@count}"
    exit(@failed.zero? ? 0 : 1)
  end
end

# Waits until the block is true; false after `seconds`.
def eventually(seconds = 120)
  deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (result = yield)
    return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline

    sleep 0.02
  end
  result
end
