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
		check:   goredis.NewScript(checkScript),
		swap:    goredis.NewScript(swapScript),
		remove:  goredis.NewScript(removeScript),
		adopt:   goredis.NewScript(adoptScript),
		build:   goredis.NewScript(buildScript),
		whole:   goredis.NewScript(wholeScript),
		forget:  goredis.NewScript(forgetScript),
		touch:   goredis.NewScript(touchScript),
		land:    goredis.NewScript(landScript),
		keep:    goredis.NewScript(keepScript),
		release: goredis.NewScript(releaseScript),
	}
}
