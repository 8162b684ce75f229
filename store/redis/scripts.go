package redis

import (
	goredis "github.com/redis/go-redis/v9"
)

// What the scripts answer. Codes and no errors: the text of a script error differs between servers.
const (
	codeFenced  = -1 // the token is not the one in force; nothing was done
	codeNo      = 0  // the record is not what was expected; nothing was done
	codeDone    = 1
	codeChanged = 2 // remove: the record is there and not what was expected; nothing was done
)

// fenced begins every script that writes for a coordinator. KEYS[1] is the leader hash, ARGV[1] the epoch and ARGV[2] the
// instance; an empty epoch is a store without fencing.
const fenced = `
if ARGV[1] ~= '' then
  local token = redis.call('HMGET', KEYS[1], 'epoch', 'instance')
  if token[1] ~= ARGV[1] or token[2] ~= ARGV[2] then return -1 end
end
`

// indexed is the function that enters a record into the index; ids come as 19 digits, so that they sort as text.
const indexed = `
local function index(names, times, id, ts, done)
  redis.call('ZADD', names, 0, 'a' .. id)
  redis.call('ZADD', times, ts, id)
  if done == '1' then redis.call('ZADD', names, 0, 'c' .. id) end
  local high = redis.call('ZREVRANGEBYLEX', names, '(i', '[h', 'LIMIT', 0, 1)[1]
  if not high or high < 'h' .. id then
    if high then redis.call('ZREM', names, high) end
    redis.call('ZADD', names, 0, 'h' .. id)
  end
end
`

// scripts are the compiled scripts; each is sent by its SHA and in full only where the server does not know it.
type scripts struct {
	check, swap, remove, adopt, build, whole, forget, touch, land, keep, release *goredis.Script
}

func newScripts() *scripts {
	return &scripts{
		// check compares the token and does nothing.
		// KEYS 1 leader. ARGV 1 epoch, 2 instance. Returns -1 fenced, 1.
		check: goredis.NewScript(fenced + `return 1`),

		// swap writes a record if the stored one is as expected, and enters it into the index.
		// KEYS 1 leader, 2 record, 3 index names, 4 index times.
		// ARGV 1 epoch, 2 instance, 3 "absent" or "bytes", 4 expected bytes, 5 new bytes, 6 id, 7 timestamp, 8 completed 0 or 1.
		// Returns -1 fenced, 0 not as expected, 1 written.
		swap: goredis.NewScript(fenced + indexed + `
local old = redis.call('GET', KEYS[2])
if ARGV[3] == 'absent' then
  if old then return 0 end
elseif old ~= ARGV[4] then
  return 0
end
redis.call('SET', KEYS[2], ARGV[5])
index(KEYS[3], KEYS[4], ARGV[6], ARGV[7], ARGV[8])
return 1`),

		// remove deletes a record, if "bytes" is asked only the expected one, and takes it out of the index.
		// KEYS 1 leader, 2 record, 3 index names, 4 index times. ARGV 1 epoch, 2 instance, 3 "any" or "bytes", 4 expected bytes, 5 id.
		// Returns -1 fenced, 0 there was none, 1 deleted, 2 not as expected.
		remove: goredis.NewScript(fenced + `
if ARGV[3] == 'bytes' then
  local old = redis.call('GET', KEYS[2])
  if old and old ~= ARGV[4] then return 2 end
end
redis.call('ZREM', KEYS[3], 'a' .. ARGV[5], 'c' .. ARGV[5])
redis.call('ZREM', KEYS[4], ARGV[5])
return redis.call('DEL', KEYS[2])`),

		// adopt enters records that were read before into the index, those that still exist. It never takes away
		// what a writer has entered meanwhile.
		// KEYS 1 index names, 2 index times, 3… records. ARGV for each record: id, timestamp, completed 0 or 1.
		// Returns 1.
		adopt: goredis.NewScript(indexed + `
for i = 3, #KEYS do
  local at = (i - 3) * 3
  if redis.call('EXISTS', KEYS[i]) == 1 then
    index(KEYS[1], KEYS[2], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
  end
end
return 1`),

		// build says that an index is being built.
		// KEYS 1 index names, 2 index times. ARGV 1 the builder. Returns 1.
		build: goredis.NewScript(`
redis.call('ZADD', KEYS[1], 0, '?' .. ARGV[1])
redis.call('ZADD', KEYS[2], '-inf', '?' .. ARGV[1])
return 1`),

		// whole says that the index is complete, unless it got lost while it was being built.
		// KEYS 1 index names, 2 index times. ARGV 1 the builder, 2 the mark of a whole index.
		// Returns 0 lost, 1 whole.
		whole: goredis.NewScript(`
for _, key in ipairs(KEYS) do
  if not redis.call('ZSCORE', key, '?' .. ARGV[1]) and not redis.call('ZSCORE', key, ARGV[2]) then return 0 end
end
redis.call('ZREM', KEYS[1], '?' .. ARGV[1])
redis.call('ZREM', KEYS[2], '?' .. ARGV[1])
redis.call('ZADD', KEYS[1], 0, ARGV[2])
redis.call('ZADD', KEYS[2], '-inf', ARGV[2])
return 1`),

		// forget takes out of the index what it says wrongly: the entry of a record that does not exist, or the
		// completed mark of one whose bytes, as given, say that it is open.
		// KEYS 1 record, 2 index names, 3 index times. ARGV 1 id, 2 "missing" or "open", 3 bytes.
		// Returns 0 it is right by now, 1 done.
		forget: goredis.NewScript(`
if ARGV[2] == 'missing' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
  redis.call('ZREM', KEYS[2], 'a' .. ARGV[1], 'c' .. ARGV[1])
  redis.call('ZREM', KEYS[3], ARGV[1])
  return 1
end
if redis.call('GET', KEYS[1]) ~= ARGV[3] then return 0 end
redis.call('ZREM', KEYS[2], 'c' .. ARGV[1])
return 1`),

		// touch looks for a chunk, and starts the life of a mortal one anew in the same step; a permanent one stays so.
		// KEYS 1 chunk. ARGV 1 life in ms, 2 last byte of the header. Returns {length, header}; length 0 if there is none.
		touch: goredis.NewScript(`
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return {0, ''} end
if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {redis.call('STRLEN', KEYS[1]), redis.call('GETRANGE', KEYS[1], 0, ARGV[2])}`),

		// land writes a chunk that does not exist, with a life. One that exists keeps its life if that is longer, and
		// stays permanent if it is; its bytes are replaced only if they differ, since equal content is what its
		// name promises: then it was damaged, or compressed by another release.
		// KEYS 1 chunk. ARGV 1 life in ms, 2 frame. Returns 0 it was there, 1 written.
		land: goredis.NewScript(`
local old = redis.call('GET', KEYS[1])
if not old then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
  return 1
end
local left = redis.call('PTTL', KEYS[1])
if old ~= ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') end
if left >= 0 and left < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 0`),

		// keep makes chunks permanent and says which do not exist.
		// KEYS 1 leader, 2… chunks. ARGV 1 epoch, 2 instance. Returns -1 fenced, or the list of the missing, counted from 0.
		keep: goredis.NewScript(fenced + `
local missing = {}
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then
    redis.call('PERSIST', KEYS[i])
  else
    missing[#missing + 1] = i - 2
  end
end
return missing`),

		// release gives permanent chunks a life; all others are left alone.
		// KEYS 1 leader, 2… chunks. ARGV 1 epoch, 2 instance, 3 life in ms. Returns -1 fenced, 1.
		release: goredis.NewScript(fenced + `
for i = 2, #KEYS do
  if redis.call('PTTL', KEYS[i]) == -1 then redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
end
return 1`),
	}
}
