-- Before every script: the clock of the node (S-7), and the check of a right before anything is written. A script that
-- fails half way is not rolled back, so what could fail is tried first: reads raise WRONGTYPE, `must` raises NOPERM.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function must(...)
  if not redis.acl_check_cmd(...) then
    error({err = 'NOPERM the store may not run ' .. (...)})
  end
end
