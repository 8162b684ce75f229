package redis

// touchScript looks for a chunk, and starts the life of a mortal one anew in the same step; a permanent one stays so.
// KEYS 1 chunk. ARGV 1 life in ms, 2 last byte of the header. Returns {length, header}; length 0 if there is none.
const touchScript = `
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return {0, ''} end
if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {redis.call('STRLEN', KEYS[1]), redis.call('GETRANGE', KEYS[1], 0, ARGV[2])}`

// landScript writes a chunk that does not exist, with a life. One that exists keeps its life if that is longer, and
// stays permanent if it is; its bytes are replaced only if they differ, since equal content is what its
// name promises: then it was damaged, or compressed by another release.
// KEYS 1 chunk. ARGV 1 life in ms, 2 frame. Returns 0 it was there, 1 written.
const landScript = `
local old = redis.call('GET', KEYS[1])
if not old then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
  return 1
end
local left = redis.call('PTTL', KEYS[1])
if old ~= ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') end
if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 0`

// keepScript makes chunks permanent and says which do not exist.
// KEYS 1 leader, 2… chunks. ARGV 1 epoch, 2 instance. Returns -1 fenced, or the list of the missing, counted from 0.
const keepScript = fenced + `
local missing = {}
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    redis.call('PERSIST', KEYS[i])
  else
    missing[#missing + 1] = i - 2
  end
end
return missing`

// releaseScript gives permanent chunks a life; all others are left alone.
// KEYS 1 leader, 2… chunks. ARGV 1 epoch, 2 instance, 3 life in ms. Returns -1 fenced, 1.
const releaseScript = fenced + `
for i = 2, #KEYS do
  if redis.call('PTTL', KEYS[i]) == -1 then redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
end
return 1`
