-- One change of one session, in one round trip.
-- KEYS: log, index, pulse, outages, outbox
local log, index, pulse_key, outages, outbox = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
-- Index and tag of the entry that the caller believes to be the last; no tag before the first.
local last, tag = ARGV[1], ARGV[2]
local at, last_instant, judged_before = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local known_outage, threshold, window = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local next_deadline, member, message = ARGV[9], ARGV[10], ARGV[11]
local count = tonumber(ARGV[12])
local first, outbox_first = 13, 13 + count

-- Does the log end where the caller thinks it does? (Numbers are given to commands as texts: Redis would write them out
-- as floating point.)
local after = redis.call('LRANGE', log, last, '-1')
if tag ~= '' then
  local entry = table.remove(after, 1)
  if not entry or string.sub(entry, 1, TAG_BYTES) ~= tag then
    return {'diverged'}
  end
end
if #after > 0 then
  local own = true
  for i = 1, count do
    if after[i] ~= ARGV[first + i - 1] then
      own = false
      break
    end
  end
  if own then
    return {'committed', now}
  end
  return {'conflict', now, after}
end

-- Does the caller know every outage, and is the shard's pulse alive?
if newest_outage(outages) ~= known_outage then
  return {'outage', now, outages_after(outages, known_outage)}
end
local pulse = tonumber(redis.call('GET', pulse_key) or nil)
if not pulse or now - pulse > threshold then
  return {'pulse', now}
end

-- Is the caller's now ours, and did no deadline pass on the way?
local in_window = at <= now and now - at <= window
if not in_window and at ~= last_instant then
  return {'now', now}
end
if judged_before and at <= judged_before and judged_before < now then
  return {'deadline', now}
end

-- May everything be written that is about to be, besides the first write, which can still fail as a whole?
must('RPUSH', log, '')
must('SET', pulse_key, '')
must('SPUBLISH', log, '')
local results = #ARGV - outbox_first + 1
if results > 0 then
  redis.call('XLEN', outbox)
  must('XADD', outbox, '*', 'e', '')
  must('SPUBLISH', outbox, '')
end

redis.call('ZADD', index, next_deadline, member)

-- From here on nothing can fail.
redis.call('SPUBLISH', log, message)
if results > 0 then
  redis.call('SPUBLISH', outbox, '')
end
redis.call('RPUSH', log, unpack(ARGV, first, outbox_first - 1))
for i = outbox_first, #ARGV do
  redis.call('XADD', outbox, '*', 'e', ARGV[i])
end
-- Who acts on an old now (a clock that stalls) gives no sign of life on the new one: see step.lua.
if in_window and now > pulse then
  redis.call('SET', pulse_key, now)
end
return {'committed', now}
