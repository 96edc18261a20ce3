-- The clock is more than the window ahead of what a process believed: note the step as an outage, once. Who gave the
-- last sign of life knew the new time already if it is later than this process's belief: then the step is noted, or
-- there was none and this process only slept.
-- KEYS: pulse, outages
local pulse_key, outages = KEYS[1], KEYS[2]
local window, estimate, outages_max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local pulse = tonumber(redis.call('GET', pulse_key) or nil)
local newest_id, newest_to = newest_outage(outages)
must('SET', pulse_key, '')
must('RPUSH', outages, '')
must('LTRIM', outages, '0', '0')

if pulse and now - estimate > window and pulse <= estimate + window then
  local from = math.max(estimate, pulse, newest_to)
  if from < now then
    redis.call('RPUSH', outages, string.format('%d %d %d', newest_id + 1, from, now))
    redis.call('LTRIM', outages, -outages_max, -1)
  end
  redis.call('SET', pulse_key, now)
end
return {'stepped', now}
