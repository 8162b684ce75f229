package redislog

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Each script names its KEYS, its ARGV and what it returns. They keep to what Redis 6.2 and miniredis have in common, and
// answer with an array whose first element is one of the words below, since miniredis wraps the text of errors.
const (
	wordOK      = "OK"
	wordFenced  = "FENCED"  // epoch, instance of the token, empty if there is none
	wordHeld    = "HELD"    // epoch, instance, remaining milliseconds
	wordNoLog   = "NOLOG"   // the stream is gone
	wordBehind  = "BEHIND"  // position that is saved
	wordUncover = "UNCOVER" // position that is saved, or empty
)

// luaToken refuses unless the token is the term's; every script of a term begins with it.
//
//	KEYS[1] leader
//	ARGV[1] epoch, ARGV[2] instance of the term
const luaToken = `
local token = redis.call('HMGET', KEYS[1], 'epoch', 'instance')
if token[1] ~= ARGV[1] or token[2] ~= ARGV[2] then
  return {'FENCED', token[1] or '', token[2] or ''}
end
`

// luaBefore compares two positions ms-seq as text: Lua's numbers hold 53 bits, ids have 64.
const luaBefore = `
local function less(a, b) return #a < #b or (#a == #b and a < b) end
local function before(p, q)
  local pms, pseq = string.match(p, '^(%d+)-(%d+)$')
  local qms, qseq = string.match(q, '^(%d+)-(%d+)$')
  return less(pms, qms) or (pms == qms and less(pseq, qseq))
end
`

// luaCampaign takes the lease, sets the token and opens the epoch.
//
//	KEYS    leader, log
//	ARGV    1 instance, 2 ttl ms, 3 lowest epoch - 1, 4 field of id, 5 field of payload, 6 event id,
//	        7 payload up to the epoch, 8 payload behind the epoch
//	returns OK epoch position | HELD epoch instance remaining
//
// The stream comes first: if it cannot be written to, the token stays as it was.
const luaCampaign = `
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local cur = redis.call('HMGET', KEYS[1], 'epoch', 'instance', 'expires')
local remaining = (tonumber(cur[3] or '0') or 0) - now
if cur[1] and cur[2] and cur[2] ~= ARGV[1] and remaining > 0 then
  return {'HELD', cur[1], cur[2], string.format('%.0f', remaining)}
end
local epoch = string.format('%.0f', math.max(tonumber(cur[1] or '0') or 0, tonumber(ARGV[3])) + 1)
local at = redis.call('XADD', KEYS[2], '*', ARGV[4], ARGV[6], ARGV[5], ARGV[7] .. epoch .. ARGV[8])
redis.call('HSET', KEYS[1], 'epoch', epoch, 'instance', ARGV[1],
  'expires', string.format('%.0f', now + tonumber(ARGV[2])))
redis.call('PERSIST', KEYS[1])
return {'OK', epoch, at}
`

// luaAppend appends events; it never creates the stream.
//
//	KEYS    leader, log
//	ARGV    3 field of id, 4 field of payload, then id, payload of each event
//	returns OK position… | FENCED | NOLOG
const luaAppend = luaToken + `
local out = {'OK'}
for i = 5, #ARGV, 2 do
  local at = redis.call('XADD', KEYS[2], 'NOMKSTREAM', '*', ARGV[3], ARGV[i], ARGV[4], ARGV[i + 1])
  if not at then return {'NOLOG'} end
  out[#out + 1] = at
end
return out
`

// luaRenew sets the end of the lease.
//
//	KEYS    leader
//	ARGV    3 ttl ms; 0 ends it
//	returns OK | FENCED
const luaRenew = luaToken + `
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
redis.call('HSET', KEYS[1], 'expires', string.format('%.0f', now + tonumber(ARGV[3])))
return {'OK'}
`

// luaControl writes a state to the control feed and keeps the newest.
//
//	KEYS    leader, control
//	ARGV    3 states to keep, 4 state
//	returns OK | FENCED
const luaControl = luaToken + `
redis.call('XADD', KEYS[2], '*', 'control', ARGV[4])
redis.call('XTRIM', KEYS[2], 'MAXLEN', ARGV[3])
return {'OK'}
`

// luaTasks sets assignments.
//
//	KEYS    leader, tasks
//	ARGV    then task, assignment of each
//	returns OK | FENCED
const luaTasks = luaToken + `
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
return {'OK'}
`

// luaKeep removes the assignments of all tasks but some.
//
//	KEYS    leader, tasks
//	ARGV    then the tasks that stay
//	returns OK | FENCED
const luaKeep = luaToken + `
local stay = {}
for i = 3, #ARGV do stay[ARGV[i]] = true end
for _, task in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not stay[task] then redis.call('HDEL', KEYS[2], task) end
end
return {'OK'}
`

// luaFold saves the fold; within one epoch it never goes back.
//
//	KEYS    leader, fold
//	ARGV    3 position, 4 state
//	returns OK | FENCED | BEHIND position
const luaFold = luaToken + luaBefore + `
local saved = redis.call('HMGET', KEYS[2], 'epoch', 'position')
if saved[1] == ARGV[1] and saved[2] and before(ARGV[3], saved[2]) then return {'BEHIND', saved[2]} end
redis.call('HSET', KEYS[2], 'epoch', ARGV[1], 'position', ARGV[3], 'state', ARGV[4])
return {'OK'}
`

// luaQuarantine stores poison entries under the position they have in the log, so that each is there once. One whose
// position is below the newest (the end of the log went back) gets another id.
//
//	KEYS    leader, quarantine
//	ARGV    3 entries to keep, then of each: position, n, n names and values
//	returns OK | FENCED
const luaQuarantine = luaToken + luaBefore + `
local i = 4
while i <= #ARGV do
  local at, n = ARGV[i], tonumber(ARGV[i + 1])
  if #redis.call('XRANGE', KEYS[2], at, at) == 0 then
    local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
    local cmd = {'XADD', KEYS[2], at}
    if last and not before(last[1], at) then cmd[3] = '*' end
    for j = i + 2, i + 1 + n do cmd[#cmd + 1] = ARGV[j] end
    redis.call(unpack(cmd))
  end
  i = i + 2 + n
end
redis.call('XTRIM', KEYS[2], 'MAXLEN', ARGV[3])
return {'OK'}
`

// luaTrim removes entries that the saved fold covers.
//
//	KEYS    leader, fold, log
//	ARGV    3 first position to keep, 4 how many at most by whole nodes, or 0 for all, exactly
//	returns OK removed | FENCED | UNCOVER position
const luaTrim = luaToken + luaBefore + `
local saved = redis.call('HGET', KEYS[2], 'position')
if not saved or before(saved, ARGV[3]) then return {'UNCOVER', saved or ''} end
local n
if ARGV[4] == '0' then
  n = redis.call('XTRIM', KEYS[3], 'MINID', ARGV[3])
else
  n = redis.call('XTRIM', KEYS[3], 'MINID', '~', ARGV[3], 'LIMIT', ARGV[4])
end
return {'OK', tostring(n)}
`

// luaBeat keeps a sign of life, unless a higher attempt is alive. It is not fenced: a worker has no token.
//
//	KEYS    task
//	ARGV    1 attempt, 2 presence, 3 ttl ms
//	returns OK | FENCED
const luaBeat = `
local old = redis.call('GET', KEYS[1])
local attempt = old and tonumber(string.match(old, '^{"attempt":(%d+)') or '0') or 0
if attempt > tonumber(ARGV[1]) then return {'FENCED'} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return {'OK'}
`

// scripts are the scripts of one log; each knows its digest.
type scripts struct {
	campaign, append, renew, control, tasks, keep, fold, quarantine, trim, beat *redis.Script
}

func newScripts() scripts {
	return scripts{
		campaign: redis.NewScript(luaCampaign), append: redis.NewScript(luaAppend), renew: redis.NewScript(luaRenew),
		control: redis.NewScript(luaControl), tasks: redis.NewScript(luaTasks), keep: redis.NewScript(luaKeep), fold: redis.NewScript(luaFold),
		quarantine: redis.NewScript(luaQuarantine), trim: redis.NewScript(luaTrim), beat: redis.NewScript(luaBeat),
	}
}

// run runs a script on the job's node and gives what stands behind OK; another word is its error.
func (l *Log) run(ctx context.Context, op string, s *redis.Script, keys []string, args ...any) ([]string, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	var reply []string
	err := l.on(ctx, func(node *redis.Client) (err error) {
		reply, err = s.Run(ctx, node, keys, args...).StringSlice()
		return err
	})
	if err != nil {
		return nil, outcome(op, err)
	}
	return verdict(reply)
}

func verdict(reply []string) ([]string, error) {
	word := ""
	if len(reply) > 0 {
		word, reply = reply[0], reply[1:]
	}
	arg := func(i int) string {
		if i < len(reply) {
			return reply[i]
		}
		return ""
	}
	switch word {
	case wordOK:
		return reply, nil
	case wordFenced:
		if arg(0) == "" {
			return nil, fmt.Errorf("%w: there is no token", eventlog.ErrFenced)
		}
		return nil, fmt.Errorf("%w: the token is epoch %s of %s", eventlog.ErrFenced, arg(0), arg(1))
	case wordHeld:
		epoch, _ := strconv.ParseInt(arg(0), 10, 64) // shown only
		return nil, &eventlog.LeaseHeldError{
			Instance: events.InstanceID(arg(1)), Epoch: events.Epoch(epoch), Remaining: milliseconds(arg(2)),
		}
	case wordNoLog:
		return nil, eventlog.ErrNoLog
	case wordBehind:
		return nil, fmt.Errorf("%w: it is at %s", eventlog.ErrFoldBehind, arg(0))
	case wordUncover:
		return nil, fmt.Errorf("%w: it is at %q", eventlog.ErrNotCovered, arg(0))
	default:
		return nil, fmt.Errorf("script answered %q", word)
	}
}
