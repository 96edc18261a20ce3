-- What came after a place in a log.
-- KEYS: log, outages
local log, outages = KEYS[1], KEYS[2]
local sequence, tag, known_outage = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local length = redis.call('LLEN', log)
if length == 0 then
  return {'missing', now, outages_after(outages, known_outage)}
end
if not holds(log, length, sequence, tag) then
  return {'diverged', now}
end
local after = {}
if length > sequence then
  after = redis.call('LRANGE', log, sequence, -1)
end
return {'found', now, outages_after(outages, known_outage), after}
