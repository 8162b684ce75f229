package redis

import (
	"fmt"
	"strings"

	"github.com/tidemark-stream/tidemark/events"
)

// keys are the keys of one store. All of them share the hash tag of the prefix, if it has one.
//
//	{prefix}7             the record of checkpoint 7
//	{prefix}state:<sha>   a chunk (job stores only)
//	{prefix}index         names, a sorted set by text, all scores 0:
//	                        !1      the index is whole, format 1      ?<random>  somebody is building it
//	                        a<id>   there is a record                 c<id>      it is completed
//	                        h<id>   highest id ever entered
//	{prefix}index:time    ids by timestamp; !1 and ?<random> at minus infinity, unreadable records at plus infinity
//
// Ids in the index have 19 digits, which is what the largest one needs.
type keys struct {
	prefix string
	names  string
	times  string
	leader string // where the token is; in stores without fencing the index, because a script needs some key
}

// mark is the member of a whole index. Another format of the index gets another mark, and so a new index.
const mark = "!1"

func newKeys(prefix, leader string) keys {
	k := keys{prefix: prefix, names: prefix + "index", times: prefix + "index:time", leader: leader}
	if leader == "" {
		k.leader = k.names
	}
	return k
}

func (k keys) record(id events.CheckpointID) string { return k.prefix + id.String() }

func (k keys) chunk(digest string) string { return k.prefix + "state:" + digest }

// id is the checkpoint of a key, if the key is that of a record: the prefix and nothing but a canonical number.
func (k keys) id(key string) (events.CheckpointID, bool) {
	suffix, ok := strings.CutPrefix(key, k.prefix)
	if !ok {
		return events.NoCheckpoint, false
	}
	id, err := events.ParseCheckpointID(suffix)
	return id, err == nil
}

// member is an id as it stands in the index.
func member(id events.CheckpointID) string { return fmt.Sprintf("%019d", int64(id)) }

// memberID reads back what member wrote; false for anything else.
func memberID(s string) (events.CheckpointID, bool) {
	trimmed := strings.TrimLeft(s, "0")
	if trimmed == "" && s != "" {
		trimmed = "0"
	}
	id, err := events.ParseCheckpointID(trimmed)
	return id, err == nil
}
