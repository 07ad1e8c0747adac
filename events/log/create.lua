-- Creates the head of a log where there is none, and takes note of the server that keeps it.
--
-- KEYS  1 head  2 events  3 versions  4 done  5 results of done commands  6 epochs  then the leases that exist
-- ARGV  1 log id for a new log, '' to create none  2 run id of the server
-- Result, one of
--       OK    CREATED    MISSING    FOREIGN, key of what is there and is not a log
--
-- Another run id means that another server took over, or that it was restarted: time passed that nobody could use to
-- renew, so every lease gets a full term from now on, except those that had run out before. Domain time goes on (see
-- read_head).

if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[1] == '' then
    return {'MISSING'}
  end
  for index = 2, 6 do
    if redis.call('EXISTS', KEYS[index]) == 1 then
      return {'FOREIGN', KEYS[index]}
    end
  end
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'log_id', ARGV[1], 'generation', 1, 'n', 0, 'last_id', '0-0',
    'time_offset', 0, 'last_time', whole(time[1] * 1000000 + time[2]), 'server', ARGV[2])
  return {'CREATED'}
end

local head = read_head(KEYS[1])
if not head or not head.n or not head.time_offset or not head.last_time then
  return {'FOREIGN', KEYS[1]}
end
if redis.call('HGET', KEYS[1], 'server') ~= ARGV[2] then
  for index = 7, #KEYS do
    local lease = redis.call('HMGET', KEYS[index], 'term', 'expires')
    local term, expires = lease[1], lease[2]
    if term and term ~= '' and tonumber(expires) > head.last_time then
      redis.call('HSET', KEYS[index], 'expires', whole(head.now + tonumber(term)))
    end
  end
  redis.call('HSET', KEYS[1], 'server', ARGV[2])
  keep_time(KEYS[1], head)
end
return {'OK'}
