local pool, one, other, session = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local known = load_match(session)
if known then
  local found = {}
  for _, player in ipairs(known[M_PLAYERS]) do
    found[player[3]] = true
  end
  if found[one] and found[other] then
    return {'paired', match_view(known)}
  end
  return {'elsewhere', one}
end
for _, id in ipairs({one, other}) do
  local ticket = load_ticket(id)
  if not waits(ticket) or ticket[POOL] ~= pool then
    return {'elsewhere', id}
  end
end
if one == other then
  return {'elsewhere', other}
end
ready()
local match = match_tickets(one, other, session)
flush()
return {'paired', match_view(match)}
