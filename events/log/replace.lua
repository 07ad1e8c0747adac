-- Puts a log that was brought together elsewhere in the place of the one that is there, or of what is left of it.
--
-- KEYS  1 head  2 events  3 versions  4 done  5 results of done commands  6 epochs  7 snapshots  8 the new entries
--       9 the leader's lease  then the other leases
-- ARGV  1 log id that is there, '' for none  2 its generation  3 its number
--       4 log id  5 generation  6 n and 7 stream id of the last of the new entries, or of the last event before them
--       8 the last domain time that is known, in microseconds  9 run id of the server
--       10..15 the event that tells of it: type, subject, by, epoch, about, data
--       16 number of versions  then that many pairs: subject, version
--       then the number of epochs  then that many pairs: lease, epoch
-- Result, one of
--       OK, n    LED, owner    MOVED (what is there is not what was looked at)
--
-- No lease outlives this, and no token: the generation is a new one, and what was appended under another is refused.

local call = redis.call
local CHUNK = 2000

local head = read_head(KEYS[1])
local there = head and {head.log_id, head.generation, whole(head.n)} or {'', '', ''}
if there[1] ~= ARGV[1] or there[2] ~= ARGV[2] or there[3] ~= ARGV[3] then
  return {'MOVED'}
end
local time = call('TIME')
local now = head and head.now or time[1] * 1000000 + time[2]
local lease = call('HMGET', KEYS[9], 'owner', 'expires')
if lease[1] and (lease[2] == '' or now < tonumber(lease[2])) then
  return {'LED', lease[1]}
end
now = math.max(now, tonumber(ARGV[8]))

local n = tonumber(ARGV[6]) + 1
local milliseconds = math.max(math.floor(now / 1000), tonumber(string.match(ARGV[7], '^(%d+)-')))
local id = whole(milliseconds) .. '-' .. whole(n)
call('XADD', KEYS[8], id, 'n', whole(n), 'type', ARGV[10], 'subject', ARGV[11], 'by', ARGV[12],
  'at', string.format('%.6f', now / 1000000), 'epoch', ARGV[13], 'about', ARGV[14], 'data', ARGV[15])

for _, index in ipairs({2, 3, 4, 5, 6, 7}) do
  call('DEL', KEYS[index])
end
for index = 9, #KEYS do
  call('DEL', KEYS[index])
end
call('RENAME', KEYS[8], KEYS[2])

-- Writes the pairs that begin behind the number at `at`, and returns what follows them.
local function write_pairs(key, at)
  local stop = at + 2 * tonumber(ARGV[at])
  for start = at + 1, stop, CHUNK do
    call('HSET', key, unpack(ARGV, start, math.min(start + CHUNK - 1, stop)))
  end
  return stop + 1
end
write_pairs(KEYS[6], write_pairs(KEYS[3], 16))

call('DEL', KEYS[1])
call('HSET', KEYS[1], 'log_id', ARGV[4], 'generation', ARGV[5], 'n', whole(n), 'last_id', id,
  'time_offset', whole(now - time[1] * 1000000 - time[2]), 'last_time', whole(now), 'server', ARGV[9])
return {'OK', n}
