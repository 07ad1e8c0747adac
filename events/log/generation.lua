-- Raises the generation of the log above a number.
--
-- KEYS  1 head
-- ARGV  1 the number
-- Result, one of
--       OK, generation    MISSING

local head = read_head(KEYS[1])
if not head then
  return {'MISSING'}
end
local generation = math.max(tonumber(head.generation), tonumber(ARGV[1])) + 1
redis.call('HSET', KEYS[1], 'generation', whole(generation))
keep_time(KEYS[1], head)
return {'OK', generation}
