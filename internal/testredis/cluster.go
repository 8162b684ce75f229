package testredis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const slots = 16_384

// Cluster is a Redis Cluster of masters without replicas, each a [Server] of its own.
type Cluster struct {
	// Servers are the masters; server i owns the i-th share of the slots.
	Servers []*Server
}

// StartCluster runs n masters (at least 3, as Redis demands), gives each an even share of the slots and returns when
// every one of them says that the cluster is whole. They end with the test.
func StartCluster(t testing.TB, n int) *Cluster {
	t.Helper()
	if n < 3 {
		t.Fatalf("testredis: a cluster has at least 3 masters, not %d", n)
	}
	c := &Cluster{}
	for range n {
		c.Servers = append(c.Servers, Start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-node-timeout", "2000"))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*startLimit)
	defer cancel()
	for i, s := range c.Servers {
		lo, hi := i*slots/n, (i+1)*slots/n-1
		rdb := s.Client(t)
		must(t, rdb.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		must(t, rdb.ClusterAddSlotsRange(ctx, lo, hi).Err())
	}
	for _, s := range c.Servers { // only now: an epoch can be set while a node knows of no other
		rdb := s.Client(t)
		for _, other := range c.Servers {
			must(t, rdb.ClusterMeet(ctx, "127.0.0.1", itoa(other.port)).Err())
		}
	}
	for _, s := range c.Servers {
		awaitWhole(ctx, t, s.Client(t), n)
	}
	return c
}

// Addrs are the addresses of all masters.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Client is a new cluster client. It is closed when the test ends; closing it before is harmless.
func (c *Cluster) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	o := clientOptions("")
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                    c.Addrs(),
		DisableIdentity:          o.DisableIdentity,
		MaintNotificationsConfig: o.MaintNotificationsConfig,
	})
	t.Cleanup(func() { closeQuietly(t, rdb.Close) })
	return rdb
}

// awaitWhole polls one master until it sees all others and all slots served.
func awaitWhole(ctx context.Context, t testing.TB, rdb *redis.Client, n int) {
	t.Helper()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		info, err := rdb.ClusterInfo(ctx).Result()
		if err == nil && hasLine(info, "cluster_state:ok") && hasLine(info, "cluster_known_nodes:"+itoa(n)) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("testredis: cluster not whole: %v\n%s", err, info)
		case <-tick.C:
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("testredis: make cluster: %v", err)
	}
}
