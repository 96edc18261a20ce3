-- A sign of life on a shard (S-12).
-- KEYS: pulse, outages
local pulse_key, outages = KEYS[1], KEYS[2]
local threshold, window, estimate = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local outages_max = tonumber(ARGV[4])

local pulse = tonumber(redis.call('GET', pulse_key) or nil)
local newest_id, newest_to = newest_outage(outages)
if pulse and now - estimate > window then
  -- The clock is ahead of what the caller believes. Until it has noted the step it gives no sign of life here.
  return {'ahead', now}
end
must('SET', pulse_key, '')
must('RPUSH', outages, '')
must('LTRIM', outages, '0', '0')

local outage = ''
if pulse and now - pulse > threshold then
  local from = math.max(pulse, newest_to)
  if from < now then
    outage = string.format('%d %d %d', newest_id + 1, from, now)
    redis.call('RPUSH', outages, outage)
    redis.call('LTRIM', outages, -outages_max, -1)
  end
end
if not pulse or now > pulse then
  redis.call('SET', pulse_key, now)
end
return {'pulsed', now, outage}
