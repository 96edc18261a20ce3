-- Deletes a session whose settlement is done.
-- KEYS: log, index, settled, failing
local log, index, settled, failing = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local sequence, tag, member = tonumber(ARGV[1]), ARGV[2], ARGV[3]

local length = redis.call('LLEN', log)
local mark = redis.call('HGET', settled, member)
redis.call('ZCARD', index)
redis.call('HLEN', failing)
if length > 0 then
  if length ~= sequence or not holds(log, length, sequence, tag) then
    return {'diverged'}
  end
  if not mark then
    return {'unsettled'}
  end
  local marked_tag, marked_sequence = string.sub(mark, 1, TAG_BYTES), tonumber(string.sub(mark, TAG_BYTES + 1))
  if not holds(log, length, marked_sequence, marked_tag) then
    return {'unsettled'}
  end
end
must('DEL', log)
must('ZREM', index, member)
must('HDEL', settled, member)
must('HDEL', failing, member)

redis.call('DEL', log)
redis.call('ZREM', index, member)
redis.call('HDEL', settled, member)
redis.call('HDEL', failing, member)
return {'deleted'}
