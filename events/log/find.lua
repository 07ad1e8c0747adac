-- Finds the stream id of the entry with a given number; read-only.
--
-- KEYS  1 events
-- ARGV  1 n
-- Result: the id of entry n, '' when it is not there
--
-- Numbers and ids grow together, so the milliseconds of the id are found by halving: some 45 looks at the stream.

local wanted = tonumber(ARGV[1])

-- The milliseconds and the number of an entry. An entry that was not written by HAES has no number: it gets none, so
-- that it is passed over here and met by whoever reads on from its neighbour.
local function place_of(entry)
  local milliseconds, number = string.match(entry[1], '^(%d+)-(%d+)$')
  local fields = entry[2]
  if fields[1] == 'n' and fields[2] == number then
    return tonumber(milliseconds), tonumber(number)
  end
  return tonumber(milliseconds), nil
end

-- The number of the last entry up to some milliseconds, 0 when there is none.
local function last_up_to(milliseconds)
  local from = string.format('%.0f', milliseconds)
  while true do
    local found = redis.call('XREVRANGE', KEYS[1], from, '-', 'COUNT', 1)[1]
    if not found then
      return 0
    end
    local _, number = place_of(found)
    if number then
      return number
    end
    from = '(' .. found[1]
  end
end

local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
if not first then
  return ''
end
local low = place_of(first)
local high = place_of(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1])
-- The least milliseconds up to which there is an entry numbered `wanted` or more.
while low < high do
  local middle = math.floor((low + high) / 2)
  if last_up_to(middle) >= wanted then
    high = middle
  else
    low = middle + 1
  end
end
local id = string.format('%.0f-%s', low, ARGV[1])
if redis.call('XRANGE', KEYS[1], id, id)[1] then
  return id
end
return ''
