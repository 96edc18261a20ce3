local key, session, joiner, kind, payload = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
local known = load_match(key)
if known then
  return {'known', match_view(known)}
end
ready()
local expired, players = {}, {}
for i = 8, #ARGV, 2 do
  local player, claim = ARGV[i], ARGV[i + 1]
  local held = redis.call('HGET', CLAIMS, claim)
  if held and held ~= 'S' .. session then
    local holder = string.sub(held, 2)
    local ticket = string.sub(held, 1, 1) == 'T' and load_ticket(holder)
    if string.sub(held, 1, 1) == 'S' or waits(ticket) then
      return {'busy', player, held}
    end
    if ticket then
      expired[#expired + 1] = holder
    end
  end
  players[#players + 1] = {player, claim, '', 0, ''}
end
for _, id in ipairs(expired) do
  end_waiting(id, load_ticket(id), EXPIRED, '')
end
for _, player in ipairs(players) do
  stage('HSET', CLAIMS, player[2], 'S' .. session)
end
local match = write_match(key, session, joiner, kind, payload, players)
flush()
return {'taken', match_view(match)}
