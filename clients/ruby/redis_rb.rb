# A textbook lock over redis-rb, on the first master: SET NX PX, and compare-and-delete.
require 'json'
require 'redis'
require 'securerandom'

COMPARE_AND_DELETE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end'

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

$stdout.sync = true
redis = ttl = nil
while (line = $stdin.gets)
  Thread.new(JSON.parse(line, symbolize_names: true)) do |request| # several clients may share the process
    answer = ->(message) { $stdout.write(JSON.generate(message.merge(id: request[:id])), "\n") }
    case request[:op]
    when 'init'
      ttl = request[:ttl_ms].to_i
      redis = Redis.new(url: "redis://#{request[:masters][0]}", timeout: ttl / 1000.0, reconnect_attempts: 0)
      answer.(type: 'ok', can: ['shared'], masters: 1, library: "redis-rb #{Redis::VERSION}")
    when 'acquire'
      token = SecureRandom.uuid
      answer.(type: 'token', token: token)
      give_up = now + request[:within_ms] / 1000.0
      sleep 0.05 until (acquired = redis.set(request[:key], token, nx: true, px: ttl)) || now > give_up
      answer.(acquired ? { type: 'ok', token: token } : { type: 'fail', error: 'not acquired in time' })
    when 'release'
      deleted = redis.eval(COMPARE_AND_DELETE, keys: [request[:key]], argv: [request[:token]])
      answer.(deleted == 1 ? { type: 'ok' } : { type: 'fail', error: 'not held any more' })
    when 'exit'
      exit
    end
  rescue StandardError => e # a timeout, a lost connection: it may have happened (redis-rb raises Errno::ECONNRESET as it is)
    answer.(type: 'info', error: "#{e.class}: #{e.message}")
  end
end
