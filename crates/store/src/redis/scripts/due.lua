-- The sessions whose deadline has passed, without those that wait after a failure.
-- KEYS: index, failing
local index, failing = KEYS[1], KEYS[2]
local limit = tonumber(ARGV[1])

local any_failing = redis.call('HLEN', failing) > 0
local due, offset = {}, 0
repeat
  local passed = redis.call('ZRANGE', index, '-inf', '(' .. now, 'BYSCORE', 'LIMIT', offset, limit, 'WITHSCORES')
  for i = 1, #passed, 2 do
    local failures, retry_at = 0, 0
    if any_failing then
      local noted = redis.call('HGET', failing, passed[i])
      if noted then
        failures, retry_at = string.match(noted, '^(%d+) (%d+)$')
        failures, retry_at = tonumber(failures), tonumber(retry_at)
      end
    end
    if retry_at <= now and #due < limit * 3 then
      due[#due + 1] = passed[i]
      due[#due + 1] = passed[i + 1]
      due[#due + 1] = failures
    end
  end
  offset = offset + limit
until #due >= limit * 3 or #passed < limit * 2
return {'due', now, due}
