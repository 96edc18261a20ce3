-- Before every script that looks at a log.
local TAG_BYTES = 4

-- Whether a log of `length` entries holds the place (sequence, tag).
local function holds(log, length, sequence, tag)
  if sequence > length then
    return false
  end
  if sequence == 0 then
    return true
  end
  local entry = redis.call('LINDEX', log, sequence - 1 - length)
  return string.sub(entry, 1, TAG_BYTES) == tag
end
