-- Domain time and the head of the log; put in front of every script that needs them.
--
-- Domain time is the server's TIME plus an offset that the head keeps. It never goes back: where the server's clock is
-- behind the last time that was handed out, the offset grows by the difference. All times are whole microseconds.

local function whole(number)
  return string.format('%d', number)
end

-- Reads the head; nil when there is no log.
local function read_head(key)
  local values = redis.call('HMGET', key, 'log_id', 'generation', 'n', 'last_id', 'time_offset', 'last_time')
  if not values[1] then
    return nil
  end
  local head = {
    log_id = values[1],
    generation = values[2],
    n = tonumber(values[3]),
    last_id = values[4],
    time_offset = tonumber(values[5]),
    last_time = tonumber(values[6]),
  }
  local time = redis.call('TIME')
  head.now = time[1] * 1000000 + time[2] + head.time_offset
  if head.now < head.last_time then
    head.time_offset = head.time_offset + head.last_time - head.now
    head.now = head.last_time
  end
  return head
end

-- Remembers the time, so that it cannot go back.
local function keep_time(key, head)
  redis.call('HSET', key, 'time_offset', whole(head.time_offset), 'last_time', whole(head.now))
end

-- Says why a token is not good, or nil when it is. `generation`, `epoch` and `nonce` are the token's.
local function why_fenced(head, lease_key, generation, epoch, nonce)
  if head.generation ~= generation then
    return 'the log is at generation ' .. head.generation
  end
  local lease = redis.call('HMGET', lease_key, 'epoch', 'nonce', 'expires', 'owner')
  if not lease[1] then
    return 'nobody holds the lease'
  end
  if lease[1] ~= epoch or lease[2] ~= nonce then
    return 'it belongs to ' .. (lease[4] or '?') .. ' at epoch ' .. lease[1]
  end
  if lease[3] and lease[3] ~= '' and head.now >= tonumber(lease[3]) then
    return 'it has run out'
  end
  return nil
end
