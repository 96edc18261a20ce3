-- Releases those claims that name the session.
local session, released = ARGV[3], 0
ready()
for i = 4, #ARGV do
  if redis.call('HGET', CLAIMS, ARGV[i]) == 'S' .. session then
    stage('HDEL', CLAIMS, ARGV[i])
    released = released + 1
  end
end
flush()
return {'released', released}
