// Package settings fills the flags of a command from their four places, the first that has a value winning:
//
//	flag  >  environment TIDEMARK_<FLAG>  >  REDIS_URL (for --redis only)  >  file (--config, YAML)  >  default
//
// A flag --lease-ttl is TIDEMARK_LEASE_TTL in the environment and lease-ttl in the file. Every value goes through the
// flag's own parser, so a wrong one is refused with the name of the place it came from, and a key of the file that is no
// flag is refused too.
package settings
