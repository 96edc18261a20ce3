local pools, from = {}, '-'
repeat
  local found = redis.call('ZRANGE', QUEUE, from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  if found then
    local pool = string.sub(found, 1, POOL_BYTES)
    pools[#pools + 1] = pool
    from = '(' .. pool .. string.rep('\255', SINCE_BYTES + ID_BYTES)
  end
until not found
return {'pools', pools}
