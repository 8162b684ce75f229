package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/internal/target"
)

// errNobodyLeads is wrapped by what [lease.leads] returns.
var errNobodyLeads = errors.New("no coordinator leads the job")

// lease is who leads, or led last.
type lease struct {
	instance, epoch string        // empty: nobody ever
	left            time.Duration // negative: lapsed that long ago
}

// leaseOf reads the lease against the clock of Redis.
func leaseOf(ctx context.Context, t *target.Target) (lease, error) {
	fields, err := t.Client.HGetAll(ctx, eventlog.KeysOf(t.Job).Leader()).Result()
	if err != nil || len(fields) == 0 {
		return lease{}, wrapLease(err)
	}
	now, err := t.Client.Time(ctx).Result()
	if err != nil {
		return lease{}, wrapLease(err)
	}
	ms, err := strconv.ParseInt(fields["expires"], 10, 64)
	if err != nil {
		return lease{}, wrapLease(err)
	}
	return lease{fields["instance"], fields["epoch"], time.UnixMilli(ms).Sub(now).Truncate(time.Millisecond)}, nil
}

func wrapLease(err error) error {
	if err != nil {
		return fmt.Errorf("read the lease: %w", err)
	}
	return nil
}

// leads says in an error why nobody does.
func (l lease) leads(t *target.Target) error {
	start := fmt.Sprintf("start one with: coordinator serve --job %s --tasks …", t.Job)
	switch {
	case l.instance == "":
		return fmt.Errorf("%w: nobody has ever led %s; %s", errNobodyLeads, t.Job, start)
	case l.left <= 0:
		return fmt.Errorf("%w: the lease of %s in epoch %s ended %s ago; %s", errNobodyLeads, l.instance, l.epoch, -l.left, start)
	}
	return nil
}
