-- Of some logs that were found by their keys, those without an entry in their shard's index.
-- KEYS: index. ARGV: members.
local orphans = {}
for i = 1, #ARGV do
  if not redis.call('ZSCORE', KEYS[1], ARGV[i]) then
    orphans[#orphans + 1] = ARGV[i]
  end
end
return {'orphans', orphans}
