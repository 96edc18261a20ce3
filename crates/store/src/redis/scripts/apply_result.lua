-- Applies a result to a player's record, once (S-20).
-- KEYS: record, applied, order, games
local record, applied, order, games = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local result, tag, expected_version = ARGV[1], ARGV[2], tonumber(ARGV[3])
local changes_record, bytes, change = ARGV[4] == '1', ARGV[5], ARGV[6]
local is_listed, listing = ARGV[7] == '1', ARGV[8]
local kept, games_max = tonumber(ARGV[9]), tonumber(ARGV[10])
local TAG_BYTES = 4
-- How many forgotten results one call clears away at most.
local FORGOTTEN_MAX = 16

local known = redis.call('HGET', applied, result)
if known then
  local known_tag = string.sub(known, 1, TAG_BYTES)
  if known_tag == tag then
    return {'already'}
  end
  return {'contradiction', known_tag}
end
local version = tonumber(redis.call('HGET', record, 'v') or 0)
if changes_record and version ~= expected_version then
  return {'version', version, redis.call('HGET', record, 'd')}
end
local oldest = redis.call('LRANGE', order, 0, FORGOTTEN_MAX - 1)
redis.call('LLEN', games)
must('HSET', record, 'v', '')
must('HSET', applied, result, '')
must('HDEL', applied, result)
must('RPUSH', order, '')
must('LPOP', order)
must('PEXPIRE', applied, '1')
must('PEXPIRE', order, '1')
must('LPUSH', games, '')
must('LTRIM', games, '0', '0')

if changes_record then
  redis.call('HSET', record, 'v', version + 1, 'd', bytes)
end
redis.call('HSET', applied, result, tag .. change)
redis.call('RPUSH', order, struct.pack('>I8', now) .. result)
for i = 1, #oldest do
  if now - struct.unpack('>I8', oldest[i]) <= kept then
    break
  end
  redis.call('LPOP', order)
  redis.call('HDEL', applied, string.sub(oldest[i], 9))
end
redis.call('PEXPIRE', applied, string.format('%d', kept))
redis.call('PEXPIRE', order, string.format('%d', kept))
if is_listed then
  redis.call('LPUSH', games, listing)
  redis.call('LTRIM', games, 0, games_max - 1)
end
return {'applied'}
