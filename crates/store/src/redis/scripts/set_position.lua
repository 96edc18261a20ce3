-- Notes how far a receiver has read an outbox; never moves back.
-- KEYS: positions
local positions, receiver = KEYS[1], ARGV[1]
local millis, number = tonumber(ARGV[2]), tonumber(ARGV[3])

local noted = redis.call('HGET', positions, receiver)
if noted then
  local noted_millis, noted_number = string.match(noted, '^(%d+)-(%d+)$')
  noted_millis, noted_number = tonumber(noted_millis), tonumber(noted_number)
  if noted_millis > millis or (noted_millis == millis and noted_number >= number) then
    return {'kept'}
  end
end
must('HSET', positions, receiver, '')

redis.call('HSET', positions, receiver, string.format('%d-%d', millis, number))
return {'noted'}
