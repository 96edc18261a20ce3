local id, player, claim, kind, pool = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local lifetime, since, session, payload = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10], ARGV[11]

local known = load_ticket(id)
if known then
  return {'existing', ticket_view(id, known)}
end
ready()
local replaced = ''
local held = redis.call('HGET', CLAIMS, claim)
if held then
  local holder = string.sub(held, 2)
  if string.sub(held, 1, 1) == 'S' then
    return {'busy', holder}
  end
  local old = load_ticket(holder)
  if waits(old) then
    replaced = holder
    end_waiting(holder, old, REPLACED, id)
  elseif old then
    end_waiting(holder, old, EXPIRED, '')
  end
end

since = math.min(since or now, now)
local ticket = {player, claim, kind, pool, SEARCHING, '', now, since, now + lifetime, 0, payload}
save_ticket(id, ticket)

local queue = redis.call('ZRANGE', QUEUE, '[' .. pool, '[' .. pool .. string.rep('\255', SINCE_BYTES + ID_BYTES),
  'BYLEX', 'LIMIT', 0, VISITED_MAX)
if not load_match(session) then
  for i = 1, #queue do
    local other = string.sub(queue[i], POOL_BYTES + SINCE_BYTES + 1)
    if waits(load_ticket(other)) then
      local match = match_tickets(other, id, session)
      flush()
      return {'created', ticket_view(id, ticket), replaced, match_view(match)}
    end
  end
end
stage('ZADD', QUEUE, 0, queue_member(id, ticket))
stage('ZADD', EXPIRY, ticket[EXPIRES], id)
stage('HSET', CLAIMS, claim, 'T' .. id)
flush()
return {'created', ticket_view(id, ticket), replaced}
