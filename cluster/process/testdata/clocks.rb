# Waits, or says what the clocks show, as TestProgramsGoByTheirClocks tells it.
require 'io/wait'
require 'socket'
require 'timeout'

$stdout.sync = true
idle, _other = UNIXSocket.pair
Thread.new { loop { sleep 0.05 } }
puts 'ready'
while (line = $stdin.gets)
  how, s = line.split
  s = s.to_f
  case how
  when 'clock'
    puts format('%.6f %.6f', Process.clock_gettime(Process::CLOCK_MONOTONIC), Time.now.to_f)
    next
  when 'sleep' then sleep s
  when 'select' then IO.select([idle], nil, nil, s)
  when 'condition'
    Mutex.new.tap { |m| m.synchronize { ConditionVariable.new.wait(m, s) } }
  when 'queue'
    t = Thread.new { sleep }
    t.join(s)
    t.kill
  when 'timeout'
    begin
      Timeout.timeout(s) { sleep }
    rescue Timeout::Error
    end
  end
  puts 'ok'
end
