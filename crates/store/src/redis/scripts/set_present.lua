-- A seat's player is connected for a while more (S-17).
-- KEYS: lease, log (its channel)
local lease, channel = KEYS[1], KEYS[2]
local milliseconds, message = ARGV[1], ARGV[2]

local was = redis.call('EXISTS', lease)
must('SET', lease, '', 'PX', '1')
must('SPUBLISH', channel, '')

if was == 0 then
  redis.call('SPUBLISH', channel, message)
end
redis.call('SET', lease, '', 'PX', milliseconds)
return {'present', was}
