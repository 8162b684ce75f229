package redis

// adoptScript enters records that were read before into the index, those that still exist. It never takes away
// what a writer has entered meanwhile.
// KEYS 1 index names, 2 index times, 3… records. ARGV for each record: id, timestamp, completed 0 or 1.
// Returns 1.
const adoptScript = indexed + `
for i = 3, #KEYS do
  local at = (i - 3) * 3
  if redis.call('EXISTS', KEYS[i]) == 1 then
    index(KEYS[1], KEYS[2], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  end
end
return 1`

// buildScript says that an index is being built.
// KEYS 1 index names, 2 index times. ARGV 1 the builder. Returns 1.
const buildScript = `
redis.call('ZADD', KEYS[1], 0, '?' .. ARGV[1])
redis.call('ZADD', KEYS[2], '-inf', '?' .. ARGV[1])
return 1`

// wholeScript says that the index is complete, unless it got lost while it was being built.
// KEYS 1 index names, 2 index times. ARGV 1 the builder, 2 the mark of a whole index.
// Returns 0 lost, 1 whole.
const wholeScript = `
for _, key in ipairs(KEYS) do
  if not redis.call('ZSCORE', key, '?' .. ARGV[1]) and not redis.call('ZSCORE', key, ARGV[2]) then return 0 end
end
redis.call('ZREM', KEYS[1], '?' .. ARGV[1])
redis.call('ZREM', KEYS[2], '?' .. ARGV[1])
redis.call('ZADD', KEYS[1], 0, ARGV[2])
redis.call('ZADD', KEYS[2], '-inf', ARGV[2])
return 1`

// forgetScript takes out of the index what it says wrongly: the entry of a record that does not exist, or the
// completed mark of one whose bytes, as given, say that it is open.
// KEYS 1 record, 2 index names, 3 index times. ARGV 1 id, 2 "missing" or "open", 3 bytes.
// Returns 0 it is right by now, 1 done.
const forgetScript = `
if ARGV[2] == 'missing' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
  redis.call('ZREM', KEYS[2], 'a' .. ARGV[1], 'c' .. ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  return 1
end
if redis.call('GET', KEYS[1]) ~= ARGV[3] then return 0 end
redis.call('ZREM', KEYS[2], 'c' .. ARGV[1])
return 1`
