-- Drops old entries of an outbox that every receiver has read.
-- KEYS: outbox, positions
local outbox, positions = KEYS[1], KEYS[2]
local keep = tonumber(ARGV[1])

local millis, number = math.max(now - keep, 0), 0
for _, position in ipairs(redis.call('HVALS', positions)) do
  local read_millis, read_number = string.match(position, '^(%d+)-(%d+)$')
  read_millis, read_number = tonumber(read_millis), tonumber(read_number) + 1
  if read_millis < millis or (read_millis == millis and read_number < number) then
    millis, number = read_millis, read_number
  end
end
redis.call('XLEN', outbox)
must('XTRIM', outbox, 'MINID', '0')

return {'trimmed', redis.call('XTRIM', outbox, 'MINID', string.format('%d-%d', millis, number))}
