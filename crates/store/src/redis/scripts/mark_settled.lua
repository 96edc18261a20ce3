-- Notes that a session's settlement is done.
-- KEYS: log, settled
local log, settled = KEYS[1], KEYS[2]
local sequence, tag, member = tonumber(ARGV[1]), ARGV[2], ARGV[3]

local length = redis.call('LLEN', log)
if length == 0 then
  return {'missing'}
end
if not holds(log, length, sequence, tag) then
  return {'diverged'}
end
redis.call('HLEN', settled)
must('HSET', settled, member, '')

redis.call('HSET', settled, member, tag .. ARGV[1])
return {'marked'}
