-- What the deployment was born with; the first process of all writes it.
-- KEYS: deployment. ARGV: fields and values.
local born = redis.call('HGETALL', KEYS[1])
if #born > 0 then
  return born
end
must('HSET', KEYS[1], unpack(ARGV))
redis.call('HSET', KEYS[1], unpack(ARGV))
return redis.call('HGETALL', KEYS[1])
