package redis

// checkScript compares the token and does nothing.
// KEYS 1 leader. ARGV 1 epoch, 2 instance. Returns -1 fenced, 1.
const checkScript = fenced + `return 1`

// swapScript writes a record if the stored one is as expected, and enters it into the index.
// KEYS 1 leader, 2 record, 3 index names, 4 index times.
// ARGV 1 epoch, 2 instance, 3 "absent" or "bytes", 4 expected bytes, 5 new bytes, 6 id, 7 timestamp, 8 completed 0 or 1.
// Returns -1 fenced, 0 not as expected, 1 written.
const swapScript = fenced + indexed + `
local old = redis.call('GET', KEYS[2])
if ARGV[3] == 'absent' then
  if old then return 0 end
elseif old ~= ARGV[4] then
  return 0
end
redis.call('SET', KEYS[2], ARGV[5])
index(KEYS[3], KEYS[4], ARGV[6], ARGV[7], ARGV[8])
if ARGV[8] == '0' then redis.call('ZREM', KEYS[3], 'c' .. ARGV[6]) end
return 1`

// removeScript deletes a record, if "bytes" is asked only the expected one, and takes it out of the index.
// KEYS 1 leader, 2 record, 3 index names, 4 index times. ARGV 1 epoch, 2 instance, 3 "any" or "bytes", 4 expected bytes, 5 id.
// Returns -1 fenced, 0 there was none, 1 deleted, 2 not as expected.
const removeScript = fenced + `
if ARGV[3] == 'bytes' then
  local old = redis.call('GET', KEYS[2])
  if old and old ~= ARGV[4] then return 2 end
end
redis.call('ZREM', KEYS[3], 'a' .. ARGV[5], 'c' .. ARGV[5])
redis.call('ZREM', KEYS[4], ARGV[5])
return redis.call('DEL', KEYS[2])`
