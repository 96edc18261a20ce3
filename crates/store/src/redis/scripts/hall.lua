-- Before every script of a hall. All of a hall lies in these keys, in one slot:
--   tickets    hash   ticket id -> packed ticket
--   queue      zset   pool ‖ waiting since (8 bytes) ‖ ticket id, all of score 0: one ordered queue a pool
--   expiry     zset   ticket id by when it expires
--   claims     hash   kind ‖ hash of the player -> 'T' ticket id or 'S' session id
--   matches    hash   match key -> packed match
--   unfinished zset   match key by when it was written
--   forget     zset   't' ticket id or 'm' match key by when it is forgotten
local TICKETS, QUEUE, EXPIRY, CLAIMS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local MATCHES, UNFINISHED, FORGET = KEYS[5], KEYS[6], KEYS[7]
local VISITED_MAX, RETENTION = tonumber(ARGV[1]), tonumber(ARGV[2])
local POOL_BYTES, ID_BYTES, SINCE_BYTES = 12, 12, 8
-- How much of what is forgotten one call clears away at most.
local CLEARED_MAX = 16

-- A ticket: player, claim, kind, pool, state, other, created at, waiting since, expires at, forget at, payload.
local PLAYER, CLAIM, KIND, POOL, STATE, OTHER, CREATED, SINCE, EXPIRES, GONE, PAYLOAD =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local SEARCHING, PAIRED, MATCHED, CANCELLED, REPLACED, EXPIRED, VOID = 'S', 'P', 'M', 'C', 'R', 'X', 'V'
-- A match: session, joining player, kind, state, created at, forget at, payload, players. A player of a match: player,
-- claim, ticket id, waiting since, payload.
local M_SESSION, M_JOINER, M_KIND, M_STATE, M_CREATED, M_GONE, M_PAYLOAD, M_PLAYERS = 1, 2, 3, 4, 5, 6, 7, 8
local UNFINISHED_STATE, FINISHED_STATE, VOID_STATE = 'U', 'F', 'V'

-- Writes are gathered and made at the end, after the wake-ups: before that nothing is changed.
local staged, woken, loaded = {}, {}, {}

local function stage(...)
  staged[#staged + 1] = {...}
end

local function wake(id)
  woken[#woken + 1] = id
end

-- What every writing script may need; raises before anything is changed.
local function ready()
  for _, key in ipairs({TICKETS, CLAIMS, MATCHES}) do
    redis.call('HLEN', key)
    must('HSET', key, '', '')
    must('HDEL', key, '')
  end
  for _, key in ipairs({QUEUE, EXPIRY, UNFINISHED, FORGET}) do
    redis.call('ZCARD', key)
    must('ZADD', key, '0', '')
    must('ZREM', key, '')
  end
  must('SPUBLISH', TICKETS, '')
end

local function flush()
  for _, gone in ipairs(redis.call('ZRANGE', FORGET, '-inf', now, 'BYSCORE', 'LIMIT', 0, CLEARED_MAX)) do
    stage('ZREM', FORGET, gone)
    local key, id = string.sub(gone, 1, 1), string.sub(gone, 2)
    -- Whoever was written anew under an id that was to be forgotten has no time to be forgotten at yet.
    if key == 't' then
      local raw = not loaded[gone] and redis.call('HGET', TICKETS, id)
      if raw and cmsgpack.unpack(raw)[GONE] ~= 0 then
        stage('HDEL', TICKETS, id)
      end
    else
      local raw = not loaded[gone] and redis.call('HGET', MATCHES, id)
      if raw and cmsgpack.unpack(raw)[M_GONE] ~= 0 then
        stage('HDEL', MATCHES, id)
      end
    end
  end
  for i = 1, #woken do
    redis.call('SPUBLISH', TICKETS .. woken[i], '')
  end
  for i = 1, #staged do
    redis.call(unpack(staged[i]))
  end
end

local function load_ticket(id)
  local ticket = loaded['t' .. id]
  if ticket == nil then
    local raw = redis.call('HGET', TICKETS, id)
    ticket = raw and cmsgpack.unpack(raw) or false
    if ticket and ticket[GONE] ~= 0 and ticket[GONE] <= now then
      ticket = false
    end
    if ticket then
      loaded['t' .. id] = ticket
    end
  end
  return ticket or nil
end

local function save_ticket(id, ticket)
  loaded['t' .. id] = ticket
  stage('HSET', TICKETS, id, cmsgpack.pack(ticket))
end

local function waits(ticket)
  return ticket and ticket[STATE] == SEARCHING and ticket[EXPIRES] >= now
end

local function queue_member(id, ticket)
  return ticket[POOL] .. struct.pack('>I8', ticket[SINCE]) .. id
end

local function forget_later(ticket, id)
  ticket[GONE] = now + RETENTION
  stage('ZADD', FORGET, ticket[GONE], 't' .. id)
end

local function unqueue(id, ticket)
  stage('ZREM', QUEUE, queue_member(id, ticket))
  stage('ZREM', EXPIRY, id)
end

-- Ends a ticket that waits; its player is free.
local function end_waiting(id, ticket, state, other)
  unqueue(id, ticket)
  ticket[STATE], ticket[OTHER] = state, other
  forget_later(ticket, id)
  save_ticket(id, ticket)
  if redis.call('HGET', CLAIMS, ticket[CLAIM]) == 'T' .. id then
    stage('HDEL', CLAIMS, ticket[CLAIM])
  end
  wake(id)
end

local function ticket_view(id, ticket)
  local state = ticket[STATE]
  if state == SEARCHING and ticket[EXPIRES] < now then
    state = EXPIRED
  end
  return {
    id, ticket[PLAYER], ticket[KIND], ticket[POOL], state, ticket[OTHER],
    ticket[CREATED], ticket[SINCE], ticket[EXPIRES], ticket[PAYLOAD],
  }
end

local function load_match(key)
  local match = loaded['m' .. key]
  if match == nil then
    local raw = redis.call('HGET', MATCHES, key)
    match = raw and cmsgpack.unpack(raw) or false
    if match and match[M_GONE] ~= 0 and match[M_GONE] <= now then
      match = false
    end
    if match then
      loaded['m' .. key] = match
    end
  end
  return match or nil
end

local function save_match(key, match)
  loaded['m' .. key] = match
  stage('HSET', MATCHES, key, cmsgpack.pack(match))
end

local function match_view(match)
  local players = {}
  for i, player in ipairs(match[M_PLAYERS]) do
    players[i] = {player[1], player[3], player[4], player[5]}
  end
  return {
    match[M_SESSION], match[M_JOINER], match[M_KIND], match[M_STATE],
    match[M_CREATED], match[M_PAYLOAD], players,
  }
end

local function write_match(key, session, joiner, kind, payload, players)
  local match = {session, joiner, kind, UNFINISHED_STATE, now, 0, payload, players}
  save_match(key, match)
  stage('ZADD', UNFINISHED, now, key)
  return match
end

-- Whether one ticket comes before another in a queue. Not by comparing strings: Lua does that by the server's locale.
local function comes_before(one_id, one, other_id, other)
  if one[SINCE] ~= other[SINCE] then
    return one[SINCE] < other[SINCE]
  end
  for i = 1, ID_BYTES do
    local a, b = string.byte(one_id, i), string.byte(other_id, i)
    if a ~= b then
      return a < b
    end
  end
  return false
end

-- Takes two tickets into a match, who waited longer first.
local function match_tickets(first, second, session)
  if comes_before(second, load_ticket(second), first, load_ticket(first)) then
    first, second = second, first
  end
  local players = {}
  for i, id in ipairs({first, second}) do
    local ticket = load_ticket(id)
    unqueue(id, ticket)
    ticket[STATE], ticket[OTHER] = PAIRED, session
    save_ticket(id, ticket)
    stage('HSET', CLAIMS, ticket[CLAIM], 'S' .. session)
    players[i] = {ticket[PLAYER], ticket[CLAIM], id, ticket[SINCE], ticket[PAYLOAD]}
    wake(id)
  end
  return write_match(session, session, '', load_ticket(first)[KIND], '', players)
end
