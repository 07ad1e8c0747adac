-- Acquires, renews or releases a lease.
--
-- KEYS  1 head  2 epochs  3 the lease
-- ARGV  1 'acquire'  2 name of the lease  3 owner  4 nonce  5 term in microseconds, or ''  6 '1' to seize it
--                    7, 8 generation and epoch above which the token is to be: whoever asks remembers that right,
--                    which a log that lost its tail has forgotten
--       1 'renew'    2..4 the token's generation, epoch, nonce  5 term in microseconds, or ''
--                    6 '1' when a new note follows  then names and values of the note in turn
--       1 'release'  2..4 the token's generation, epoch, nonce
-- Result, one of
--       OK, generation, epoch (of acquire)    OK    HELD, owner, microseconds until it runs out or ''
--       FENCED, why    MISSING
--
-- The lease is a hash without an expiry of its own: it runs out by domain time, so that it gets a full term when
-- another server takes over, and so that who held it last and what they noted can still be read.
-- The epoch is kept apart and never removed, so that it never falls.

local head = read_head(KEYS[1])
if not head then
  return {'MISSING'}
end

local function expiry(term)
  if term == '' then
    return ''
  end
  return whole(head.now + tonumber(term))
end

local function remove_note()
  for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
    if string.sub(name, 1, 5) == 'note:' then
      redis.call('HDEL', KEYS[3], name)
    end
  end
end

if ARGV[1] == 'acquire' then
  local lease = redis.call('HMGET', KEYS[3], 'owner', 'epoch', 'expires')
  if lease[2] and ARGV[6] ~= '1' then
    if lease[3] == '' then
      return {'HELD', lease[1], ''}
    end
    if head.now < tonumber(lease[3]) then
      return {'HELD', lease[1], tonumber(lease[3]) - head.now}
    end
  end
  local generation, known = tonumber(head.generation), tonumber(ARGV[7])
  local epoch = math.max(tonumber(redis.call('HGET', KEYS[2], ARGV[2]) or 0), tonumber(lease[2] or 0))
  if known > generation then
    generation = known + 1
    redis.call('HSET', KEYS[1], 'generation', whole(generation))
  elseif known == generation then
    epoch = math.max(epoch, tonumber(ARGV[8]))
  end
  epoch = epoch + 1
  redis.call('HSET', KEYS[2], ARGV[2], whole(epoch))
  redis.call('DEL', KEYS[3])
  redis.call('HSET', KEYS[3], 'owner', ARGV[3], 'epoch', whole(epoch), 'nonce', ARGV[4],
    'term', ARGV[5], 'expires', expiry(ARGV[5]))
  keep_time(KEYS[1], head)
  return {'OK', generation, epoch}
end

local fenced = why_fenced(head, KEYS[3], ARGV[2], ARGV[3], ARGV[4])
if fenced then
  return {'FENCED', fenced}
end
if ARGV[1] == 'renew' then
  if ARGV[6] == '1' then
    remove_note()
    for index = 7, #ARGV, 2 do
      redis.call('HSET', KEYS[3], 'note:' .. ARGV[index], ARGV[index + 1])
    end
  end
  redis.call('HSET', KEYS[3], 'term', ARGV[5], 'expires', expiry(ARGV[5]))
else
  redis.call('DEL', KEYS[3])
end
keep_time(KEYS[1], head)
return {'OK'}
