local filler, probe, longest, most = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local found = redis.call('time')
for db in string.gmatch(redis.call('info', 'keyspace'), 'db(%d+):') do
  redis.call('select', db)
  for _, key in ipairs(redis.call('keys', '*')) do
    if string.sub(key, 1, #filler) ~= filler and string.sub(key, 1, #probe) ~= probe then
      if #found > most then
        return redis.error_reply('ERR more than ' .. most .. ' keys')
      end
      local kind = redis.call('type', key).ok
      local text = 0
      if kind == 'string' and redis.call('strlen', key) <= longest then
        text = redis.call('get', key)
      end
      table.insert(found, {db, key, kind, redis.call('pexpiretime', key), text})
    end
  end
end
return found
