package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/internal/settings"
)

type flags struct {
	set      *pflag.FlagSet
	interval time.Duration
	redis    string
	tasks    []string
}

func newFlags() *flags {
	f := &flags{set: pflag.NewFlagSet("test", pflag.ContinueOnError)}
	f.set.DurationVar(&f.interval, "lease-ttl", time.Second, "")
	f.set.StringVar(&f.redis, "redis", "redis://default", "")
	f.set.StringSliceVar(&f.tasks, "names", nil, "")
	f.set.String(settings.ConfigFlag, "", "")
	return f
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tidemark.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheFirstPlaceThatHasAValueWins(t *testing.T) {
	file := writeFile(t, "lease-ttl: 4s\nredis: redis://file\nnames: [a, b]\n")
	for _, c := range []struct {
		name          string
		args          []string
		env           map[string]string
		lease         time.Duration
		redis, source string
	}{
		{name: "default", lease: time.Second, redis: "redis://default", source: "default"},
		{name: "file", args: []string{"--config", file}, lease: 4 * time.Second, redis: "redis://file", source: "file " + file},
		{
			name: "file named by the environment", env: map[string]string{"TIDEMARK_CONFIG": file},
			lease: 4 * time.Second, redis: "redis://file", source: "file " + file,
		},
		{
			name: "REDIS_URL over file", args: []string{"--config", file}, env: map[string]string{"REDIS_URL": "redis://url"},
			lease: 4 * time.Second, redis: "redis://url", source: "file " + file,
		},
		{
			name: "environment over REDIS_URL", args: []string{"--config", file},
			env:   map[string]string{"REDIS_URL": "redis://url", "TIDEMARK_REDIS": "redis://env", "TIDEMARK_LEASE_TTL": "3s"},
			lease: 3 * time.Second, redis: "redis://env", source: "env TIDEMARK_LEASE_TTL",
		},
		{
			name: "flag over all", args: []string{"--config", file, "--lease-ttl", "2s", "--redis", "redis://flag"},
			env:   map[string]string{"REDIS_URL": "redis://url", "TIDEMARK_REDIS": "redis://env", "TIDEMARK_LEASE_TTL": "3s"},
			lease: 2 * time.Second, redis: "redis://flag", source: "flag",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("REDIS_URL", "")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			f := newFlags()
			if err := f.set.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			all, err := settings.Apply(f.set, nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.interval != c.lease || f.redis != c.redis {
				t.Errorf("lease-ttl %s, redis %s; want %s, %s", f.interval, f.redis, c.lease, c.redis)
			}
			for _, s := range all {
				if s.Name == "lease-ttl" && s.Source != c.source {
					t.Errorf("source %q, want %q", s.Source, c.source)
				}
			}
		})
	}
}

func TestAListOfTheFileIsAListOfTheFlag(t *testing.T) {
	f := newFlags()
	if err := f.set.Parse([]string{"--config", writeFile(t, "names: [a, b]")}); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Apply(f.set, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, f.tasks); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsWrongIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ name, file, env, want string }{
		{"a value of the environment", "", "soon", `env TIDEMARK_LEASE_TTL: invalid argument "soon"`},
		{"a value of the file", "lease-ttl: soon", "", `invalid argument "soon" for "--lease-ttl"`},
		{"a key of the file that is no flag", "lease-tll: 3s", "", `"lease-tll" is no setting`},
		{"a file that is no YAML", "a: b: c", "", "read file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv("TIDEMARK_LEASE_TTL", c.env)
			}
			f := newFlags()
			if err := f.set.Parse([]string{"--config", writeFile(t, c.file)}); err != nil {
				t.Fatal(err)
			}
			_, err := settings.Apply(f.set, []string{"known-elsewhere"})
			if !errors.Is(err, settings.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrInvalid with %q", err, c.want)
			}
		})
	}
}

func TestAFileMayNameTheFlagsOfOtherCommands(t *testing.T) {
	f := newFlags()
	if err := f.set.Parse([]string{"--config", writeFile(t, "known-elsewhere: 1")}); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Apply(f.set, []string{"known-elsewhere"}); err != nil {
		t.Error(err)
	}
}

func TestAMissingFileIsAnError(t *testing.T) {
	f := newFlags()
	if err := f.set.Parse([]string{"--config", filepath.Join(t.TempDir(), "none.yaml")}); err != nil {
		t.Fatal(err)
	}
	if _, err := settings.Apply(f.set, nil); !errors.Is(err, settings.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestAFlagThatOnlyTheCommandLineSetsIsDeafToTheRest(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://url")
	f := newFlags()
	settings.FlagOnly(f.set, "redis")
	if _, err := settings.Apply(f.set, nil); err != nil {
		t.Fatal(err)
	}
	if f.redis != "redis://default" {
		t.Errorf("redis %q was taken from the environment", f.redis)
	}
}

func TestThePasswordIsNotShown(t *testing.T) {
	t.Setenv("REDIS_URL", "redis://user:secret@host:6379")
	f := newFlags()
	all, err := settings.Apply(f.set, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if strings.Contains(s.Value, "secret") {
			t.Errorf("%s shows the password: %s", s.Name, s.Value)
		}
	}
}

func TestHiddenFlagsAreNotShownAndAskingTwiceAnswersTheSame(t *testing.T) {
	t.Setenv("TIDEMARK_LEASE_TTL", "3s")
	f := newFlags()
	f.set.Bool("secret-door", false, "")
	if err := f.set.MarkHidden("secret-door"); err != nil {
		t.Fatal(err)
	}
	first, err1 := settings.Apply(f.set, nil)
	second, err2 := settings.Apply(f.set, nil)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	for _, s := range first {
		if s.Name == "secret-door" {
			t.Errorf("shown: %+v", s)
		}
	}
}
