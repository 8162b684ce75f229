package redisconn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark-stream/tidemark/internal/redisconn"
	"github.com/tidemark-stream/tidemark/internal/testredis"
)

// want is what an address must come to.
type want struct {
	Addrs                    []string
	User, Password, Master   string
	SentinelUser, SentinelPW string
	DB                       int
	TLS, Cluster             bool
}

func TestOneAddressNamesEverySetUp(t *testing.T) {
	for address, w := range map[string]want{
		"redis://h":                        {Addrs: []string{"h:6379"}},
		"redis://u:p%40ss@h:1/3":           {Addrs: []string{"h:1"}, User: "u", Password: "p@ss", DB: 3},
		"redis://:only@h:1":                {Addrs: []string{"h:1"}, Password: "only"},
		"rediss://h:1":                     {Addrs: []string{"h:1"}, TLS: true},
		"redis+sentinel://a:1,b:2/main":    {Addrs: []string{"a:1", "b:2"}, Master: "main"},
		"redis+sentinel://u:p@a:1/main/4":  {Addrs: []string{"a:1"}, Master: "main", User: "u", Password: "p", DB: 4},
		"rediss+sentinel://a:1/m":          {Addrs: []string{"a:1"}, Master: "m", TLS: true},
		"redis+cluster://a:1,b:2":          {Addrs: []string{"a:1", "b:2"}, Cluster: true},
		"redis+cluster://u:x%2Cy@a:1":      {Addrs: []string{"a:1"}, Cluster: true, User: "u", Password: "x,y"},
		"rediss+cluster://a:1,b:2,[::1]:3": {Addrs: []string{"a:1", "b:2", "[::1]:3"}, Cluster: true, TLS: true},
		"redis+sentinel://a:1/m?sentinel_username=su&sentinel_password=sp": {
			Addrs: []string{"a:1"}, Master: "m", SentinelUser: "su", SentinelPW: "sp",
		},
	} {
		t.Run(address, func(t *testing.T) {
			o, err := redisconn.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			got := want{
				Addrs: o.Addrs, User: o.Username, Password: o.Password, Master: o.MasterName, SentinelUser: o.SentinelUsername,
				SentinelPW: o.SentinelPassword, DB: o.DB, TLS: o.TLSConfig != nil, Cluster: o.IsClusterMode,
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAWrongAddressSaysWhatIsWrongAndHidesThePassword(t *testing.T) {
	for address, text := range map[string]string{
		"localhost:6379":                     "no scheme",
		"http://h":                           "not redis",
		"redis+ring://h:1":                   "not redis",
		"redis://u:secret@h:1/notanumber":    "",
		"redis+sentinel://u:secret@a:1":      "name of the master",
		"redis+sentinel://a/main":            "host:port",
		"redis+sentinel://a:1/main/x":        "not a number",
		"redis+cluster://a:1/3":              "no database",
		"redis+cluster://a:1?what=1":         "unknown parameter",
		"redis://u:secret@h:1?tls_ca=/none":  "rediss",
		"rediss://u:secret@h:1?tls_ca=/none": "read tls_ca",
		"redis://u:secret@h:port":            "",
		"redis://u:secret/x@h:1":             "%2F",
		"redis://u:se?secret@h:1":            "%3F",
		"redis://u:a%zzsecret@h:1":           "",
		"redis+cluster://u:secret/x@h:1":     "%2F",
		"redis+sentinel://u:1/secret@h:1/m":  "%2F",
	} {
		t.Run(address, func(t *testing.T) {
			_, err := redisconn.Parse(address)
			if !errors.Is(err, redisconn.ErrAddress) || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want ErrAddress with %q", err, text)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestCheckSaysWhatIsWrongWithTheServer(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"nothing on disk", nil, []string{"keeps nothing on disk"}},
		{"save points only", []string{"--save", "3600 1"}, []string{"since the last save"}},
		{"evicting", []string{"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"}, []string{"noeviction"}},
		{"well set up", []string{"--appendonly", "yes"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testredis.Start(t, c.args...)
			found, err := redisconn.Check(t.Context(), s.Client(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != len(c.want) {
				t.Fatalf("found %v, want %d", found, len(c.want))
			}
			for i, f := range found {
				if f.Fatal || !strings.Contains(f.Text, c.want[i]) {
					t.Errorf("found %+v, want a warning with %q", f, c.want[i])
				}
			}
		})
	}
}

func TestCheckTellsAServerThatIsAwayFromOneThatDoesNotTell(t *testing.T) {
	s := testredis.Start(t, "--rename-command", "CONFIG", "")
	client := s.Client(t)
	if found, err := redisconn.Check(t.Context(), client); err != nil || len(found) != 0 {
		t.Errorf("a server without CONFIG: %v, %v", found, err)
	}
	s.Stop()
	if _, err := redisconn.Check(t.Context(), client); err == nil {
		t.Error("a server that is away is no error")
	}
}

func TestAUserWithAPasswordConnects(t *testing.T) {
	s := testredis.Start(t)
	admin := s.Client(t)
	err := admin.Do(t.Context(), "ACL", "SETUSER", "tide", "on", ">p@ss,word", "~*", "+@all").Err()
	if err != nil {
		t.Fatal(err)
	}
	for password, ok := range map[string]bool{"p%40ss%2Cword": true, "wrong": false} {
		o, err := redisconn.Parse("redis://tide:" + password + "@" + s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		client := redis.NewUniversalClient(o)
		err = client.Ping(t.Context()).Err()
		if (err == nil) != ok {
			t.Errorf("password %s: %v", password, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}
