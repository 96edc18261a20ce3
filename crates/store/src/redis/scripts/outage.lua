-- Before every script that looks at a shard's outages: a list of "id from to", the newest last.

-- Number and end of the newest outage; 0 and 0 when there is none. Raises WRONGTYPE.
local function newest_outage(outages)
  local newest = redis.call('LINDEX', outages, '-1')
  if not newest then
    return 0, 0
  end
  local id, _, to = string.match(newest, '^(%d+) (%d+) (%d+)$')
  return tonumber(id), tonumber(to)
end

-- The outages after number `known`.
local function outages_after(outages, known)
  local missing = newest_outage(outages) - known
  if missing <= 0 then
    return {}
  end
  return redis.call('LRANGE', outages, -missing, '-1')
end
