-- Appends batches of events, one after the other; each as a whole or not at all.
--
-- KEYS  1 events  2 head  3 versions  4 done  5 results of done commands  6 the token's lease
-- ARGV  1..3 the token's generation, epoch, nonce
--       4 age in microseconds after which a command id is forgotten
--       then for each batch: command id, or ''; number of expected versions, then that many pairs: subject, version;
--       number of events, then 6 values for each: type, subject, by, at, about, data
-- Result: for each batch one of
--       OK | REPEATED, first n, number of events, milliseconds of the ids, domain time
--       FENCED, why    CONFLICT, subject, expected, actual    INVALID, why    MISSING    ERROR, what the server says
--
-- Everything of a batch is checked before its first write, because the server does not roll a script back. All keys
-- that are written are also read before, so a key of the wrong kind ends the script in time, too.
-- The id of an entry is `<milliseconds of domain time>-<n>`: it grows with n even where the clock stands still.

local call = redis.call
-- How many values one call takes at most; Lua's stack holds about 8000.
local CHUNK = 2000
-- Forgotten command ids are removed whenever n passes a multiple of EVERY, so many at a time: more than were added.
local EVERY, PRUNED = 64, 200
local WIDTH = 6
-- Milliseconds above this are not exact in Lua; an id beyond it was not written by accident.
local LARGEST = 2 ^ 53 - 1

local generation, epoch, nonce, age = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local head = read_head(KEYS[2])
local fenced = head and why_fenced(head, KEYS[6], generation, epoch, nonce)

local function add(prefix, n, index)
  return redis.pcall('XADD', KEYS[1], prefix .. n, 'n', n,
    'type', ARGV[index], 'subject', ARGV[index + 1], 'by', ARGV[index + 2], 'at', ARGV[index + 3],
    'epoch', epoch, 'about', ARGV[index + 4], 'data', ARGV[index + 5])
end

-- Writes the first event and returns the milliseconds of its id. It is refused, with nothing written, when somebody else
-- wrote a higher id. Then ids go on behind that one: a single command typed by hand must not stop a cluster, and what
-- time it is stands in the event.
local function add_first(milliseconds, n, index)
  local added = add(whole(milliseconds) .. '-', n, index)
  if type(added) == 'table' and added.err then
    local top = call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
    local highest = top and tonumber(string.match(top[1], '^(%d+)-')) or 0
    if highest < milliseconds or highest >= LARGEST then
      return nil, added.err
    end
    milliseconds = highest + 1
    added = add(whole(milliseconds) .. '-', n, index)
    if type(added) == 'table' and added.err then
      return nil, added.err
    end
  end
  return milliseconds, nil
end

-- Appends the batch whose values begin at `at`, `first` being its first event and `stop` the last value.
local function append(at, first, stop)
  if not head then
    return {'MISSING'}
  end
  local command = ARGV[at]
  if command ~= '' then
    local known = call('HGET', KEYS[5], command)
    if known then
      local n, count, milliseconds, time = string.match(known, '^(%d+) (%d+) (%d+) (%d+)$')
      return {'REPEATED', tonumber(n), tonumber(count), tonumber(milliseconds), tonumber(time)}
    end
    call('ZSCORE', KEYS[4], command)
  end
  if fenced then
    return {'FENCED', fenced}
  end
  local total = (stop - first + 1) / WIDTH
  if total < 1 then
    return {'INVALID', 'a batch without events'}
  end

  -- How many events each subject gets, and the subjects in the order in which they appear.
  local gains, subjects = {}, {}
  for index = first + 1, stop, WIDTH do
    local subject = ARGV[index]
    local gained = gains[subject]
    if not gained then
      gained = 0
      subjects[#subjects + 1] = subject
    end
    gains[subject] = gained + 1
  end
  for index = at + 2, first - 2, 2 do
    local subject = ARGV[index]
    if not gains[subject] then
      gains[subject] = 0
      subjects[#subjects + 1] = subject
    end
  end

  local versions = {}
  for start = 1, #subjects, CHUNK do
    local last = math.min(start + CHUNK - 1, #subjects)
    local found = call('HMGET', KEYS[3], unpack(subjects, start, last))
    for index = start, last do
      local version = tonumber(found[index - start + 1] or 0)
      if not version then
        return {'INVALID', 'the version of ' .. subjects[index] .. ' is not a number'}
      end
      versions[subjects[index]] = version
    end
  end
  for index = at + 2, first - 2, 2 do
    local actual = versions[ARGV[index]]
    if actual ~= tonumber(ARGV[index + 1]) then
      return {'CONFLICT', ARGV[index], ARGV[index + 1], actual}
    end
  end

  -- From here on it writes.
  local before = head.n
  local last = tonumber(string.match(head.last_id, '^(%d+)-'))
  local milliseconds, refused = add_first(math.max(math.floor(head.now / 1000), last), whole(before + 1), first)
  if refused then
    return {'ERROR', refused}
  end
  local prefix = whole(milliseconds) .. '-'
  local n = before + 1
  for index = first + WIDTH, stop, WIDTH do
    n = n + 1
    add(prefix, whole(n), index)
  end

  local changed, size = {}, 0
  for _, subject in ipairs(subjects) do
    local gained = gains[subject]
    if gained > 0 then
      changed[size + 1] = subject
      changed[size + 2] = whole(versions[subject] + gained)
      size = size + 2
    end
    if size >= CHUNK then
      call('HSET', KEYS[3], unpack(changed))
      changed, size = {}, 0
    end
  end
  if size > 0 then
    call('HSET', KEYS[3], unpack(changed))
  end

  head.n, head.last_id = n, prefix .. whole(n)
  call('HSET', KEYS[2], 'n', whole(n), 'last_id', head.last_id,
    'time_offset', whole(head.time_offset), 'last_time', whole(head.now))

  if command ~= '' then
    local now = whole(head.now)
    call('ZADD', KEYS[4], now, command)
    call('HSET', KEYS[5], command, whole(before + 1) .. ' ' .. whole(total) .. ' ' .. whole(milliseconds) .. ' ' .. now)
    if math.floor(before / EVERY) ~= math.floor(n / EVERY) then
      local forgotten = call('ZRANGEBYSCORE', KEYS[4], '-inf', whole(head.now - age), 'LIMIT', 0, PRUNED)
      if #forgotten > 0 then
        call('ZREM', KEYS[4], unpack(forgotten))
        call('HDEL', KEYS[5], unpack(forgotten))
      end
    end
  end
  return {'OK', before + 1, total, milliseconds, head.now}
end

local results = {}
local at = 5
while at <= #ARGV do
  -- Where the number of events lies, and the batch's last value.
  local count = at + 2 + 2 * tonumber(ARGV[at + 1])
  local stop = count + WIDTH * tonumber(ARGV[count])
  local result
  if at == 5 then
    -- What the server refuses here has written nothing, so its own error says all.
    result = append(at, count + 1, stop)
    if result[1] == 'ERROR' then
      return redis.error_reply(result[2])
    end
  else
    local fine, found = pcall(append, at, count + 1, stop)
    result = fine and found or {'ERROR', type(found) == 'table' and found.err or tostring(found)}
  end
  results[#results + 1] = result
  at = stop + 1
  if result[1] == 'ERROR' then
    break
  end
end
return results
