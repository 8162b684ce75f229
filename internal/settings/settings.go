package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"github.com/tidemark-stream/tidemark/internal/redisconn"
)

// Prefix starts every environment variable that is read, but for REDIS_URL.
const Prefix = "TIDEMARK_"

// ConfigFlag names the flag that holds the path of the file; empty means none.
const ConfigFlag = "config"

// ErrInvalid is wrapped by every error of [Apply]: the user can mend it.
var ErrInvalid = errors.New("invalid setting")

// Setting is one flag's value in force and where it came from: "flag", "env TIDEMARK_…", "env REDIS_URL", "file …" or "default".
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Coordinator lists the flags of "coordinator serve": the file of a worker may name them, so that one file serves both.
func Coordinator() []string {
	return []string{
		"chunk-grace", "drain-timeout", "fall-back", "interval", "job", "key-prefix", "lease-ttl", "log-format", "log-level", "max-concurrent", "min-pause",
		"presence-ttl", "queue-limit", "redis", "required-acks", "retain", "store-timeout", "tasks", "timeout",
	}
}

// layer is one place; it answers by flag name.
type layer struct {
	source func(flag string) string
	values *koanf.Koanf
}

// Apply gives every flag that was not set on the command line its value from the environment or the file, and returns all
// flags' values, but for hidden ones, with their source, sorted by name. known lists further flags that the file may name, those of other commands.
func Apply(flags *pflag.FlagSet, known []string) ([]Setting, error) {
	layers, err := load(flags, known)
	if err != nil {
		return nil, err
	}
	var out []Setting
	flags.VisitAll(func(f *pflag.Flag) {
		source, setErr := set(flags, f, layers)
		err = errors.Join(err, setErr)
		if f.Hidden {
			return
		}
		value := f.Value.String()
		if f.Name == "redis" {
			value = redisconn.Redact(value)
		}
		out = append(out, Setting{Name: f.Name, Value: value, Source: source})
	})
	slices.SortFunc(out, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

func set(flags *pflag.FlagSet, f *pflag.Flag, layers []layer) (source string, err error) {
	switch {
	case f.Changed:
		return "flag", nil
	case f.Annotations[flagOnly] != nil:
		return "default", nil
	}
	for _, l := range layers {
		if !l.values.Exists(f.Name) {
			continue
		}
		source = l.source(f.Name)
		if err := flags.Set(f.Name, text(l.values, f.Name)); err != nil {
			return source, fmt.Errorf("%w: %s: %w", ErrInvalid, source, err)
		}
		f.Changed = false // on the command line it was not: whoever asks again gets the same answer
		return source, nil
	}
	return "default", nil
}

// text gives the value as it would stand on the command line: a list joined by commas.
func text(k *koanf.Koanf, name string) string {
	if list := k.Strings(name); len(list) > 0 {
		return strings.Join(list, ",")
	}
	return k.String(name)
}

// flagOnly marks flags that no other place can set.
const flagOnly = "tidemark_flag_only"

// FlagOnly makes a flag deaf to environment and file: for a wish that must be spoken aloud. The flag must exist.
func FlagOnly(flags *pflag.FlagSet, name string) {
	if err := flags.SetAnnotation(name, flagOnly, []string{"true"}); err != nil {
		panic(err) // the flag is not there
	}
}

func load(flags *pflag.FlagSet, known []string) ([]layer, error) {
	fromEnv := koanf.New("/")
	err := fromEnv.Load(env.Provider("/", env.Opt{Prefix: Prefix, TransformFunc: func(k, v string) (string, any) {
		return flagName(strings.TrimPrefix(k, Prefix)), v
	}}), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: read environment: %w", ErrInvalid, err)
	}
	redisURL := koanf.New("/")
	if v := os.Getenv("REDIS_URL"); v != "" {
		if err := redisURL.Set("redis", v); err != nil {
			return nil, fmt.Errorf("%w: REDIS_URL: %w", ErrInvalid, err)
		}
	}
	layers := []layer{
		{values: fromEnv, source: func(flag string) string { return "env " + EnvName(flag) }},
		{values: redisURL, source: func(string) string { return "env REDIS_URL" }},
	}
	path := configPath(flags, fromEnv)
	if path == "" {
		return layers, nil
	}
	fromFile, err := loadFile(path, flags, known)
	if err != nil {
		return nil, err
	}
	return append(layers, layer{values: fromFile, source: func(string) string { return "file " + path }}), nil
}

func configPath(flags *pflag.FlagSet, fromEnv *koanf.Koanf) string {
	f := flags.Lookup(ConfigFlag)
	switch {
	case f == nil:
		return ""
	case f.Changed:
		return f.Value.String()
	default:
		return fromEnv.String(ConfigFlag)
	}
}

func loadFile(path string, flags *pflag.FlagSet, known []string) (*koanf.Koanf, error) {
	k := koanf.New("/")
	if err := k.Load(file.Provider(path), yaml.Parser()); err != nil {
		return nil, fmt.Errorf("%w: read file %s: %w", ErrInvalid, path, err)
	}
	for _, key := range k.Keys() {
		if flags.Lookup(key) == nil && !slices.Contains(known, key) {
			return nil, fmt.Errorf("%w: file %s: %q is no setting; the settings are the long flag names, see --help", ErrInvalid, path, key)
		}
	}
	return k, nil
}

// EnvName is the environment variable of a flag.
func EnvName(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func flagName(env string) string { return strings.ToLower(strings.ReplaceAll(env, "_", "-")) }
