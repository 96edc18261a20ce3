return {'holder', redis.call('HGET', CLAIMS, ARGV[3])}
