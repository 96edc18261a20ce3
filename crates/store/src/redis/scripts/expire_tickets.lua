local limit = math.min(tonumber(ARGV[3]), VISITED_MAX)
ready()
local passed = redis.call('ZRANGE', EXPIRY, '-inf', '(' .. now, 'BYSCORE', 'LIMIT', 0, limit)
for _, id in ipairs(passed) do
  local ticket = load_ticket(id)
  if ticket then
    end_waiting(id, ticket, EXPIRED, '')
  else
    stage('ZREM', EXPIRY, id)
  end
end
flush()
return {'expired', passed}
