local pool, limit = ARGV[3], math.min(tonumber(ARGV[4]), VISITED_MAX)
local queue = redis.call('ZRANGE', QUEUE, '[' .. pool, '[' .. pool .. string.rep('\255', SINCE_BYTES + ID_BYTES),
  'BYLEX', 'LIMIT', 0, limit)
for i = 1, #queue do
  queue[i] = string.sub(queue[i], POOL_BYTES + SINCE_BYTES + 1)
end
return {'waiting', queue}
