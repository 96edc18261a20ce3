-- A worker is alive for a while more.
-- KEYS: workers
local workers, worker, lease = KEYS[1], ARGV[1], tonumber(ARGV[2])

redis.call('ZCARD', workers)
must('ZADD', workers, '0', worker)
must('ZREMRANGEBYSCORE', workers, '0', '0')

redis.call('ZADD', workers, now + lease, worker)
redis.call('ZREMRANGEBYSCORE', workers, '-inf', now)
return {'alive', redis.call('ZRANGE', workers, 0, -1)}
