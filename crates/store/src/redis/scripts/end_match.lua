-- Finishes a match or makes it void.
local key, state = ARGV[3], ARGV[4]
local match = load_match(key)
if not match then
  return {'match'}
end
if match[M_STATE] == UNFINISHED_STATE then
  ready()
  local session = match[M_SESSION]
  match[M_STATE], match[M_GONE] = state, now + RETENTION
  if state == FINISHED_STATE then
    -- The session's log says all from now on; what is kept has to be small.
    match[M_PAYLOAD] = ''
    for _, player in ipairs(match[M_PLAYERS]) do
      player[5] = ''
    end
  end
  save_match(key, match)
  stage('ZREM', UNFINISHED, key)
  stage('ZADD', FORGET, match[M_GONE], 'm' .. key)
  for _, player in ipairs(match[M_PLAYERS]) do
    if state == VOID_STATE and redis.call('HGET', CLAIMS, player[2]) == 'S' .. session then
      stage('HDEL', CLAIMS, player[2])
    end
    local id = player[3]
    local ticket = id ~= '' and load_ticket(id)
    if ticket and ticket[STATE] == PAIRED and ticket[OTHER] == session then
      ticket[STATE] = state == VOID_STATE and VOID or MATCHED
      forget_later(ticket, id)
      save_ticket(id, ticket)
      wake(id)
    end
  end
  flush()
end
return {'match', match_view(match)}
