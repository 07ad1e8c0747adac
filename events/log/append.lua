-- Appends one batch of events as a whole or not at all.
--
-- KEYS  1 events  2 head  3 versions  4 done  5 results of done commands  6 the token's lease
-- ARGV  1 command id, or ''             2..4 the token's generation, epoch, nonce
--       5 age in microseconds after which a command id is forgotten
--       6 number of expected versions   then that many pairs: subject, version
--       then 7 values an event: type, subject, by, at, epoch (ignored, the token's is written), about, data
-- Result, one of
--       OK | REPEATED, first n, number of events, milliseconds of the ids, domain time
--       FENCED, why    CONFLICT, subject, expected, actual    INVALID, why    MISSING
--
-- Everything is checked before the first write, because the server does not roll a script back. All keys that are
-- written are also read before, so a key of the wrong kind ends the script in time, too.
-- The id of an entry is `<milliseconds of domain time>-<n>`: it grows with n even where the clock stands still.

-- How many values one call takes at most; Lua's stack holds about 8000.
local CHUNK = 2000
-- How many forgotten command ids one append removes: more than it adds, few enough to stay quick.
local PRUNED = 100
local WIDTH = 7
-- Milliseconds above this are not exact in Lua; an id beyond it was not written by accident.
local LARGEST = 2 ^ 53 - 1

local command, generation, epoch, nonce = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local expected = tonumber(ARGV[6])
local first = 7 + 2 * expected

local head = read_head(KEYS[2])
if not head then
  return {'MISSING'}
end

local forgotten = {}
if command ~= '' then
  local known = redis.call('HGET', KEYS[5], command)
  forgotten = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', whole(head.now - tonumber(ARGV[5])), 'LIMIT', 0, PRUNED)
  if known then
    local n, count, milliseconds, time = string.match(known, '^(%d+) (%d+) (%d+) (%d+)$')
    return {'REPEATED', tonumber(n), tonumber(count), tonumber(milliseconds), tonumber(time)}
  end
end

local fenced = why_fenced(head, KEYS[6], generation, epoch, nonce)
if fenced then
  return {'FENCED', fenced}
end

-- How many events each subject gets, and the subjects in the order in which they appear.
local total = (#ARGV - first + 1) / WIDTH
if total < 1 or total ~= math.floor(total) then
  return {'INVALID', 'a batch is 7 values for each of its events, and not empty'}
end
local gains, subjects = {}, {}
for index = first + 1, #ARGV, WIDTH do
  local subject = ARGV[index]
  if not gains[subject] then
    gains[subject] = 0
    subjects[#subjects + 1] = subject
  end
  gains[subject] = gains[subject] + 1
end
for index = 7, first - 1, 2 do
  local subject = ARGV[index]
  if not gains[subject] then
    gains[subject] = 0
    subjects[#subjects + 1] = subject
  end
end

local versions = {}
for start = 1, #subjects, CHUNK do
  local stop = math.min(start + CHUNK - 1, #subjects)
  local found = redis.call('HMGET', KEYS[3], unpack(subjects, start, stop))
  for index = start, stop do
    versions[subjects[index]] = tonumber(found[index - start + 1] or 0)
    if not versions[subjects[index]] then
      return {'INVALID', 'the version of ' .. subjects[index] .. ' is not a number'}
    end
  end
end
for index = 7, first - 1, 2 do
  local actual = versions[ARGV[index]]
  if actual ~= tonumber(ARGV[index + 1]) then
    return {'CONFLICT', ARGV[index], ARGV[index + 1], actual}
  end
end

-- From here on it writes.
local last = tonumber(string.match(head.last_id, '^(%d+)-'))
local milliseconds = math.max(math.floor(head.now / 1000), last)

local function add(n, index)
  local number = whole(n)
  return redis.pcall('XADD', KEYS[1], whole(milliseconds) .. '-' .. number,
    'n', number, 'type', ARGV[index], 'subject', ARGV[index + 1], 'by', ARGV[index + 2], 'at', ARGV[index + 3],
    'epoch', epoch, 'about', ARGV[index + 5], 'data', ARGV[index + 6])
end

-- The first XADD is refused, with nothing written, when somebody else wrote a higher id. Then ids go on behind that one:
-- a single command typed by hand must not stop a cluster, and what time it is stands in the event.
local n = head.n + 1
local added = add(n, first)
if type(added) == 'table' and added.err then
  local top = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  local highest = top and tonumber(string.match(top[1], '^(%d+)-')) or 0
  if highest < milliseconds or highest >= LARGEST then
    return redis.error_reply(added.err)
  end
  milliseconds = highest + 1
  added = add(n, first)
  if type(added) == 'table' and added.err then
    return redis.error_reply(added.err)
  end
end
for index = first + WIDTH, #ARGV, WIDTH do
  n = n + 1
  add(n, index)
end
local prefix = whole(milliseconds) .. '-'

local changed = {}
for _, subject in ipairs(subjects) do
  if gains[subject] > 0 then
    changed[#changed + 1] = subject
    changed[#changed + 1] = whole(versions[subject] + gains[subject])
  end
  if #changed >= CHUNK then
    redis.call('HSET', KEYS[3], unpack(changed))
    changed = {}
  end
end
if #changed > 0 then
  redis.call('HSET', KEYS[3], unpack(changed))
end

redis.call('HSET', KEYS[2], 'n', whole(n), 'last_id', prefix .. whole(n),
  'time_offset', whole(head.time_offset), 'last_time', whole(head.now))

if command ~= '' then
  redis.call('ZADD', KEYS[4], whole(head.now), command)
  redis.call('HSET', KEYS[5], command,
    table.concat({whole(head.n + 1), whole(total), whole(milliseconds), whole(head.now)}, ' '))
  if #forgotten > 0 then
    redis.call('ZREM', KEYS[4], unpack(forgotten))
    redis.call('HDEL', KEYS[5], unpack(forgotten))
  end
end

return {'OK', head.n + 1, total, milliseconds, head.now}
