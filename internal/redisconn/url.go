package redisconn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// ErrAddress is wrapped by every error about the address itself; the text says what is allowed.
var ErrAddress = errors.New("redis address")

// Parse reads an address as the package comment lists them. The password never stands in an error.
func Parse(address string) (*redis.UniversalOptions, error) {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		return nil, fmt.Errorf("%w %q has no scheme; write redis://host:6379", ErrAddress, redact(address))
	}
	var (
		opts *redis.UniversalOptions
		err  error
	)
	switch base, kind, _ := strings.Cut(scheme, "+"); {
	case base != "redis" && base != "rediss":
		err = fmt.Errorf("scheme %q is not redis, rediss, redis+sentinel or redis+cluster", scheme)
	case kind == "":
		opts, err = parseSingle(address)
	case kind == "sentinel", kind == "cluster":
		opts, err = parseMany(address, kind, base == "rediss")
	default:
		err = fmt.Errorf("scheme %q is not redis, rediss, redis+sentinel or redis+cluster", scheme)
	}
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrAddress, redact(address), err)
	}
	// Neither is known to servers before 7.2, and each failed handshake counts in the server's error statistics.
	opts.DisableIdentity = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	opts.ContextTimeoutEnabled = true
	return opts, nil
}

func parseSingle(address string) (*redis.UniversalOptions, error) {
	plain, files, err := splitTLSFiles(address)
	if err != nil {
		return nil, err
	}
	o, err := redis.ParseURL(plain)
	if malformed := (*url.Error)(nil); errors.As(err, &malformed) { // its text may show a piece of the password
		return nil, errMalformed
	}
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), plain, redact(plain)))
	}
	if o.TLSConfig, err = files.apply(o.TLSConfig); err != nil {
		return nil, err
	}
	return &redis.UniversalOptions{
		Addrs: []string{o.Addr}, DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		Protocol: o.Protocol, ClientName: o.ClientName, MaxRetries: o.MaxRetries, DialTimeout: o.DialTimeout,
		ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, ConnMaxIdleTime: o.ConnMaxIdleTime,
		ConnMaxLifetime: o.ConnMaxLifetime,
	}, nil
}

var errMalformed = errors.New("not a well-formed address; in user and password write %40 for @, %3A for :, %2F for /, %3F for ?, %23 for #")

// parseMany reads an address with several hosts. net/url refuses commas behind a port, so the host list is cut out first.
func parseMany(address, kind string, secure bool) (*redis.UniversalOptions, error) {
	_, rest, _ := strings.Cut(address, "://")
	rest, query, _ := strings.Cut(rest, "?")
	rest, path, _ := strings.Cut(rest, "/")
	if strings.Contains(path, "@") {
		return nil, errMalformed
	}
	user, hosts := "", rest
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, hosts = rest[:i], rest[i+1:]
	}
	opts := &redis.UniversalOptions{IsClusterMode: kind == "cluster"}
	if err := setUser(opts, user); err != nil {
		return nil, err
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			return nil, fmt.Errorf("host %q is not of the form host:port", host)
		}
		opts.Addrs = append(opts.Addrs, host)
	}
	if err := setPath(opts, kind, path); err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("read query: %w", err)
	}
	opts.SentinelUsername, opts.SentinelPassword = values.Get("sentinel_username"), values.Get("sentinel_password")
	files := takeTLSFiles(values)
	values.Del("sentinel_username")
	values.Del("sentinel_password")
	if secure {
		opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: values.Get("skip_verify") == "true"} //nolint:gosec // the user's explicit wish
	}
	values.Del("skip_verify")
	for name := range values {
		return nil, fmt.Errorf("unknown parameter %q", name)
	}
	opts.TLSConfig, err = files.apply(opts.TLSConfig)
	return opts, err
}

func setUser(opts *redis.UniversalOptions, user string) error {
	if user == "" {
		return nil
	}
	name, password, _ := strings.Cut(user, ":")
	var err error
	if opts.Username, err = url.PathUnescape(name); err != nil {
		return errors.New("user is not well escaped")
	}
	if opts.Password, err = url.PathUnescape(password); err != nil {
		return errors.New("password is not well escaped")
	}
	return nil
}

func setPath(opts *redis.UniversalOptions, kind, path string) error {
	if kind == "cluster" {
		if path != "" && path != "0" {
			return fmt.Errorf("a cluster has no database %q", path)
		}
		return nil
	}
	master, db, _ := strings.Cut(path, "/")
	if master == "" {
		return errors.New("the sentinels' name of the master is missing: redis+sentinel://host:26379/mymaster")
	}
	opts.MasterName = master
	if db == "" {
		return nil
	}
	var err error
	if opts.DB, err = strconv.Atoi(db); err != nil {
		return fmt.Errorf("database %q is not a number", db)
	}
	return nil
}

// tlsFiles are the PEM files that an address names.
type tlsFiles struct{ ca, cert, key, serverName string }

func takeTLSFiles(v url.Values) tlsFiles {
	f := tlsFiles{ca: v.Get("tls_ca"), cert: v.Get("tls_cert"), key: v.Get("tls_key"), serverName: v.Get("tls_server_name")}
	for _, name := range []string{"tls_ca", "tls_cert", "tls_key", "tls_server_name"} {
		v.Del(name)
	}
	return f
}

func splitTLSFiles(address string) (string, tlsFiles, error) {
	base, query, ok := strings.Cut(address, "?")
	if !ok {
		return address, tlsFiles{}, nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", tlsFiles{}, fmt.Errorf("read query: %w", err)
	}
	files := takeTLSFiles(values)
	if len(values) == 0 {
		return base, files, nil
	}
	return base + "?" + values.Encode(), files, nil
}

func (f tlsFiles) apply(c *tls.Config) (*tls.Config, error) {
	if f == (tlsFiles{}) {
		return c, nil
	}
	if c == nil {
		return nil, errors.New("tls_ parameters need a rediss address")
	}
	if f.serverName != "" {
		c.ServerName = f.serverName
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("read tls_ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls_ca %s holds no certificate", f.ca)
		}
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("read tls_cert and tls_key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// redact hides the password of an address.
func redact(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	at := strings.LastIndexByte(rest, '@') // the last: a password may hold what it should not, also / and ?
	if at < 0 {
		return redactQuery(address)
	}
	user, _, _ := strings.Cut(rest[:at], ":")
	return redactQuery(scheme + "://" + user + ":***" + rest[at:])
}

func redactQuery(address string) string {
	base, query, ok := strings.Cut(address, "?")
	if !ok || !strings.Contains(query, "password") {
		return address
	}
	return base + "?***"
}

// Redact returns the address fit for logs: without password.
func Redact(address string) string { return redact(address) }
