local id = ARGV[3]
local ticket = load_ticket(id)
if not ticket then
  return {'missing'}
end
if ticket[STATE] == PAIRED then
  return {'matched', ticket[OTHER], 0}
elseif ticket[STATE] == MATCHED then
  return {'matched', ticket[OTHER], 1}
elseif ticket[STATE] == SEARCHING then
  ready()
  end_waiting(id, ticket, ticket[EXPIRES] < now and EXPIRED or CANCELLED, '')
  flush()
end
return {'cancelled'}
