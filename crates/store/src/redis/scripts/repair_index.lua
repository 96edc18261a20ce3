-- Sets a session's entry in the index if its log ends at a place.
-- KEYS: log, index
local log, index = KEYS[1], KEYS[2]
local sequence, tag, member, next_deadline = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]

local length = redis.call('LLEN', log)
if length == 0 then
  return {'missing'}
end
if length ~= sequence or not holds(log, length, sequence, tag) then
  return {'diverged'}
end
redis.call('ZCARD', index)
must('ZADD', index, '0', member)

redis.call('ZADD', index, next_deadline, member)
return {'marked'}
