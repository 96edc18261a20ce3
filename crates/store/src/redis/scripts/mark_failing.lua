-- Notes that firing a session's deadline failed.
-- KEYS: failing
local failing, member = KEYS[1], ARGV[1]
local delay_max = tonumber(ARGV[2])

local noted = redis.call('HGET', failing, member)
local failures = noted and tonumber(string.match(noted, '^%d+')) or 0
must('HSET', failing, member, '')

failures = failures + 1
local delay = math.min(1000 * 2 ^ math.min(failures - 1, 9), delay_max)
redis.call('HSET', failing, member, string.format('%d %d', failures, now + delay))
return {'failing', now, failures}
