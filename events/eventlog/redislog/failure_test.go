package redislog_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/events"
	"github.com/tidemark-stream/tidemark/events/eventlog"
	"github.com/tidemark-stream/tidemark/events/eventlog/redislog"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

func TestFollowGoesOnAfterARestartThatKeepsTheLog(t *testing.T) {
	s := testredis.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	l := open(t, client(t, s.Addr()))
	publish(t, l, "a", "b")
	f := follow(t, l, events.Start)
	f.expect("a", "b")
	for i := range 2 {
		s.Restart()
		id := events.EventID(fmt.Sprint("c", i))
		publish(t, l, id)
		f.expect(id)
	}
}

func TestARestartThatForgetsTheLogIsAGap(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	publish(t, l, "a")
	f := follow(t, l, events.Start)
	last := f.expect("a")
	s.Restart()
	if got := f.gap(); got != (eventlog.Gap{After: last, Cause: events.GapDeleted}) {
		t.Errorf("gap = %+v", got)
	}
	publish(t, l, "b")
	f.expect("b")
}

func TestFlushedAndBegunAnewUnderABlockedReader(t *testing.T) {
	s := testredis.Start(t)
	c := client(t, s.Addr())
	l := open(t, c)
	publish(t, l, "a")
	f := follow(t, l, events.Start)
	last := f.expect("a")
	f.batch() // from here on the reader blocks
	script := redis.NewScript(`redis.call('FLUSHALL')
return redis.call('XADD', KEYS[1], '*', ARGV[1], 'b', ARGV[2], ARGV[3])`)
	payload, err := ack("b").Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := script.Run(t.Context(), c, []string{eventlog.KeysOf(job).Log()}, events.FieldID, events.FieldPayload, payload).Text()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.gap(); got.After != last || got.Before.String() != id || got.Cause != events.GapDeleted {
		t.Errorf("gap = %+v, want %s behind %s", got, id, last)
	}
	f.expect("b")
}

// TestAFailoverThatLosesTheEnd has a replica take over that has not seen the last entries. The old master's clock ran ahead, so
// that ids of the new one are below the reader's cursor: a plain XREAD would be silent for as long.
func TestAFailoverThatLosesTheEnd(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ids go back": time.Hour, "ids go on": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			master, replica := testredis.Start(t, noSyncDelay...), testredis.Start(t)
			m, r := master.Client(t), replica.Client(t)
			p := newProxy(t, master.Addr())
			l := open(t, client(t, p.addr()))
			publish(t, l, "a")
			replicate(t, m, r, master.Addr())
			// The link is cut, and the old master goes on alone.
			if err := r.ReplicaOf(t.Context(), "NO", "ONE").Err(); err != nil {
				t.Fatal(err)
			}
			payload, err := ack("lost").Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			first := firstPosition(t, l)
			if ahead > 0 {
				lost := events.Position{Ms: first.Ms + uint64(ahead.Milliseconds())}
				args := addArgs(eventlog.KeysOf(job).Log(), eventlog.Wire{ID: "lost", Payload: payload})
				args.ID = lost.String()
				if err := m.XAdd(t.Context(), args).Err(); err != nil {
					t.Fatal(err)
				}
			} else {
				publish(t, l, "lost")
			}
			f := follow(t, l, events.Start)
			last := f.expect("a", "lost")
			p.lead(replica.Addr())
			publish(t, l, "b")
			got := f.gap()
			if got != (eventlog.Gap{After: last, Before: first, Cause: events.GapFailover}) {
				t.Errorf("gap = %+v, want %s lost", got, last)
			}
			f.expect("a", "b")
		})
	}
}

// replicate makes r a replica of m and waits until it has all.
func replicate(t *testing.T, m, r *redis.Client, addr string) {
	t.Helper()
	host, port, _ := strings.Cut(addr, ":")
	if err := r.ReplicaOf(t.Context(), host, port).Err(); err != nil {
		t.Fatal(err)
	}
	if err := m.Set(t.Context(), "mark", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		if n, err := r.Exists(t.Context(), "mark").Result(); err == nil && n == 1 {
			return
		}
		if time.Since(begin) > limit {
			t.Fatal("the replica does not catch up")
		}
	}
}

// noSyncDelay has a master serve its first replica at once; it would wait 5 s for others.
var noSyncDelay = []string{"--repl-diskless-sync-delay", "0"}

func firstPosition(t *testing.T, l *redislog.Log) events.Position {
	t.Helper()
	for b, err := range l.Read(t.Context(), events.Start, events.End) {
		if err != nil {
			t.Fatal(err)
		}
		return b.Entries[0].Position
	}
	t.Fatal("the log is empty")
	return events.Start
}

func TestAReplicaIsNotRead(t *testing.T) {
	master, replica := testredis.Start(t, noSyncDelay...), testredis.Start(t)
	publish(t, open(t, client(t, master.Addr())), "a")
	replicate(t, master.Client(t), replica.Client(t), master.Addr())
	p := newProxy(t, replica.Addr())
	l := open(t, client(t, p.addr()))
	told := make(chan error, 1) // one send by OnRetry, which never waits
	opts := eventlog.FollowOptions{OnRetry: func(err error, _ time.Duration) {
		select {
		case told <- err:
			p.lead(master.Addr())
		default:
		}
	}}
	for b, err := range l.Follow(t.Context(), events.Start, opts) {
		if err != nil || len(b.Entries) != 1 {
			t.Errorf("batch of %d, %v", len(b.Entries), err)
		}
		break
	}
	if err := <-told; !strings.Contains(err.Error(), "replica") {
		t.Errorf("told %v", err)
	}
}

func TestAReaderThatIsCutMissesNothingAndRepeatsNothing(t *testing.T) {
	s := testredis.Start(t)
	p := newProxy(t, s.Addr())
	l, direct := open(t, client(t, p.addr())), open(t, client(t, s.Addr()))
	f := follow(t, l, events.Start)
	for i := range 30 {
		a, b := events.EventID(fmt.Sprint("a", i)), events.EventID(fmt.Sprint("b", i))
		publish(t, direct, a)
		if i%3 == 0 {
			p.loseAnswers(1)
		}
		if i%5 == 0 {
			p.cut()
		}
		publish(t, direct, b)
		f.expect(a, b)
	}
}

func TestPublishRepeatsUntilItIsKnown(t *testing.T) {
	s := testredis.Start(t)
	p := newProxy(t, s.Addr())
	l, direct := open(t, client(t, p.addr())), open(t, client(t, s.Addr()))
	publish(t, l, "a") // the connection is there
	p.loseAnswers(1)
	publish(t, l, "b")
	if p.losses() != 1 {
		t.Fatalf("%d answers were lost", p.losses())
	}
	// The server got both: the event is there twice under one id, which the fold counts once.
	follow(t, direct, events.Start).expect("a", "b", "b")
}

func TestAppendTellsThatTheOutcomeIsUnknown(t *testing.T) {
	s := testredis.Start(t)
	p := newProxy(t, s.Addr())
	l, direct := open(t, client(t, p.addr())), open(t, client(t, s.Addr()))
	term, err := l.Campaign(t.Context(), candidate("a"))
	if err != nil {
		t.Fatal(err)
	}
	writes := map[string]func() error{
		"append":  func() error { _, err := term.Append(t.Context(), ack("e")); return err },
		"renew":   func() error { return term.Renew(t.Context()) },
		"control": func() error { return term.WriteControl(t.Context(), eventlog.Control{}) },
		"campaign": func() error {
			_, err := l.Campaign(t.Context(), candidate("a"))
			return err
		},
	}
	warm := func() { // so that neither the greeting of a connection nor NOSCRIPT is what gets lost
		if _, _, err := l.LatestControl(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"append", "renew", "control"} {
		if err := writes[name](); err != nil {
			t.Fatal(name, err)
		}
	}
	for _, name := range []string{"append", "renew", "control", "campaign"} {
		warm()
		p.loseAnswers(1)
		if err := writes[name](); !errors.Is(err, eventlog.ErrUnknownOutcome) {
			t.Errorf("%s = %v", name, err)
		}
		if p.losses() != 1 {
			t.Errorf("%s: %d answers were lost", name, p.losses())
		}
	}
	f := follow(t, direct, term.Started())
	f.expect("e", "e", startedIn(t, direct, 2))
	// The campaign did happen: the lease is its own, and the next one opens a further epoch.
	again, err := l.Campaign(t.Context(), candidate("a"))
	if err != nil || again.Epoch() != 3 {
		t.Fatalf("campaign again: %v, %v", again, err)
	}
	if _, err := term.Append(t.Context(), ack("late")); !errors.Is(err, eventlog.ErrFenced) {
		t.Errorf("append in the first term = %v", err)
	}
}

// startedIn is the id of the coordinator_started that opened the epoch.
func startedIn(t *testing.T, l *redislog.Log, epoch events.Epoch) events.EventID {
	t.Helper()
	for b, err := range l.Read(t.Context(), events.Start, events.End) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Entries {
			if s, ok := e.Envelope.Event.(*events.CoordinatorStarted); ok && s.Epoch == epoch {
				return e.Envelope.ID
			}
		}
	}
	t.Fatalf("no coordinator_started of epoch %d", epoch)
	return ""
}

func TestARefusedConnectionIsNoUnknownOutcome(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	term, err := l.Campaign(t.Context(), candidate("a"))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	for range 3 { // the pooled connection may have to be found dead first
		_, err = term.Append(t.Context(), ack("e"))
	}
	if err == nil || errors.Is(err, eventlog.ErrUnknownOutcome) {
		t.Errorf("append = %v", err)
	}
}

func TestPublishWaitsForAPausedServerNoLongerThanItsContext(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	publish(t, l, "a")
	s.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := l.Publish(ctx, ack("b")); !errors.Is(err, eventlog.ErrUnknownOutcome) {
		t.Errorf("publish = %v", err)
	}
	s.Resume()
	publish(t, l, "c")
}

func TestCancelEndsABlockedReaderOfAPausedServer(t *testing.T) {
	s := testredis.Start(t)
	l := open(t, client(t, s.Addr()))
	publish(t, l, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var canceled time.Time
	for b, err := range l.Follow(ctx, events.Start, eventlog.FollowOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Entries) > 0 {
			s.Pause() // no answer comes any more, so only the context can end the next read
			time.AfterFunc(50*time.Millisecond, func() { canceled = time.Now(); cancel() })
		}
	}
	if took := time.Since(canceled); took > eventlog.DefaultWait {
		t.Errorf("ended %v after the cancel", took)
	}
	s.Resume()
}

func TestASlowReceiverIsNoFailure(t *testing.T) {
	s := testredis.Start(t)
	c := client(t, s.Addr())
	const timeout = 250 * time.Millisecond
	l, err := redislog.Open(redislog.Config{Job: job, Client: c, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	term, err := l.Campaign(t.Context(), candidate("a"))
	if err != nil {
		t.Fatal(err)
	}
	const n = 1000
	envs := make([]events.Envelope, n)
	for i := range envs {
		envs[i] = realAck(i)
	}
	if _, err := term.Append(t.Context(), envs...); err != nil {
		t.Fatal(err)
	}
	slow := func(seen int) {
		if seen < 500 { // the next page is on its way while this one is worked on
			<-time.After(2 * timeout)
		}
	}
	opts := eventlog.FollowOptions{OnRetry: func(err error, _ time.Duration) { t.Errorf("had to retry: %v", err) }}
	for name, seq := range map[string]iter.Seq2[eventlog.Batch, error]{
		"follow": l.Follow(t.Context(), term.Started(), opts),
		"read":   l.Read(t.Context(), term.Started().Next(), events.End),
	} {
		seen := 0
		for b, err := range seq {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if seen += len(b.Entries); seen == n {
				break
			}
			slow(seen)
		}
		if seen != n {
			t.Errorf("%s gave %d entries", name, seen)
		}
	}
}
