local older_than, limit = tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), VISITED_MAX)
local matches = {}
for _, key in ipairs(redis.call('ZRANGE', UNFINISHED, '-inf', now - older_than, 'BYSCORE', 'LIMIT', 0, limit)) do
  local match = load_match(key)
  if match then
    matches[#matches + 1] = match_view(match)
  end
end
return {'unfinished', now, matches}
