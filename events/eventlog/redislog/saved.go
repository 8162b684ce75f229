package redislog

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
)

// Fields of a quarantined entry, before its own, which get a prefix.
const (
	fieldPosition = "position"
	fieldReason   = "reason"
	fieldText     = "text"
	fieldSize     = "size"
	rawPrefix     = "raw:"
)

// quarantineStep bounds the bytes of one script call: each entry has a few KiB.
const quarantineStep = 128

// LoadFold implements [eventlog.Saved].
func (l *Log) LoadFold(ctx context.Context) (at events.Position, state []byte, ok bool, err error) {
	var values []any
	err = l.on(ctx, func(node *redis.Client) (err error) {
		values, err = node.HMGet(ctx, l.keys.Fold(), "position", "state").Result()
		return err
	})
	if err != nil || len(values) != 2 || values[0] == nil {
		return at, nil, false, wrap("load fold of", l.job, err)
	}
	text, _ := values[0].(string)
	if at, err = events.ParsePosition(text); err != nil {
		return at, nil, false, wrap("load fold of", l.job, err)
	}
	saved, _ := values[1].(string)
	return at, []byte(saved), true, nil
}

// Quarantine implements [eventlog.Term].
func (t *term) Quarantine(ctx context.Context, entries ...eventlog.Entry) error {
	for len(entries) > 0 {
		n := min(len(entries), quarantineStep)
		args := []any{eventlog.MaxQuarantine}
		for _, e := range entries[:n] {
			if e.Poison == nil {
				continue
			}
			own := poisonFields(e)
			args = append(append(args, e.Position.String(), len(own)), own...)
		}
		_, err := t.run(ctx, "quarantine", t.log.scripts.quarantine, []string{t.log.keys.Quarantine()}, args...)
		if err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

func poisonFields(e eventlog.Entry) []any {
	p := e.Poison
	args := []any{
		fieldPosition, e.Position.String(), fieldReason, string(p.Reason), fieldText, p.Text,
		fieldSize, strconv.FormatInt(p.Size, 10),
	}
	for _, f := range p.Fields {
		args = append(args, rawPrefix+string(f.Name), f.Value)
	}
	return args
}

// Quarantined implements [eventlog.Saved].
func (l *Log) Quarantined(ctx context.Context, limit int) ([]eventlog.Entry, error) {
	if limit < 1 {
		return nil, nil
	}
	c, err := l.dial(ctx)
	if err != nil {
		return nil, wrap("read quarantine of", l.job, err)
	}
	defer c.close()
	c.command("XREVRANGE", l.keys.Quarantine(), "+", "-", "COUNT", strconv.Itoa(min(limit, eventlog.MaxQuarantine)))
	var p page
	if err = c.flush(0); err == nil {
		err = p.readRange(c)
	}
	if err != nil {
		return nil, wrap("read quarantine of", l.job, causeOr(ctx, err))
	}
	entries := make([]eventlog.Entry, 0, len(p.entries))
	for i := range p.entries {
		fields, _ := p.fields(&p.entries[i])
		entries = append(entries, readPoison(p.entries[i].at, fields))
	}
	return entries, nil
}

// readPoison reads what poisonFields wrote.
func readPoison(at events.Position, fields []eventlog.Field) eventlog.Entry {
	e := eventlog.Entry{Position: at, Poison: &eventlog.Poison{}}
	for _, f := range fields {
		name, isRaw := strings.CutPrefix(string(f.Name), rawPrefix)
		value := string(f.Value)
		switch {
		case isRaw:
			e.Poison.Fields = append(e.Poison.Fields, eventlog.Field{Name: []byte(name), Value: []byte(value)})
		case name == fieldPosition:
			if p, err := events.ParsePosition(value); err == nil {
				e.Position = p
			}
		case name == fieldReason:
			e.Poison.Reason = eventlog.PoisonReason(value)
		case name == fieldText:
			e.Poison.Text = value
		case name == fieldSize:
			e.Poison.Size, _ = strconv.ParseInt(value, 10, 64) // shown only
		}
	}
	return e
}

func wrap(what string, job events.JobID, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, job, err)
}
