#!/usr/bin/env bash
# Makes sure that redis-server (6.2 or newer), redis-sentinel and redis-cli are on PATH; installs them when
# missing. The tests start servers of their own on free ports, so nothing needs to run.
set -euo pipefail

say() { printf 'redis: %s\n' "$*"; }

complete() {
  command -v redis-server >/dev/null && command -v redis-cli >/dev/null && command -v redis-sentinel >/dev/null
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else say "need root for: $*"; return 1
  fi
}

by_apt() {
  # Debian keeps the sentinel in a package of its own. Indexes may be missing or stale on a fresh machine.
  local packages=(redis-server redis-sentinel redis-tools)
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}")
  as_root "${install[@]}" >/dev/null 2>&1 || { as_root apt-get update -qq && as_root "${install[@]}"; }
}

install_redis() {
  if command -v apt-get >/dev/null; then by_apt
  elif command -v brew >/dev/null; then brew install redis
  elif command -v dnf >/dev/null; then as_root dnf install -y redis
  elif command -v apk >/dev/null; then as_root apk add --no-cache redis
  elif command -v pacman >/dev/null; then as_root pacman -Sy --noconfirm redis
  else return 1
  fi
}

if ! complete; then
  say "not found, installing it"
  install_redis || true
fi
if ! complete; then
  say "redis-server, redis-cli and redis-sentinel are needed on PATH, and could not be installed here."
  say "Install Redis 6.2 or newer by hand (https://redis.io/docs/install) and run this again,"
  say "or run \`go test ./...\`, which skips what needs a server."
  exit 1
fi

version=$(redis-server --version | sed -E 's/.* v=([0-9.]+).*/\1/')
oldest=$(printf '%s\n6.2\n' "$version" | sort -V | head -n 1)
if [ "$oldest" != 6.2 ]; then
  say "redis-server $version is too old, 6.2 or newer is needed"
  exit 1
fi
say "redis-server $version ($(command -v redis-server))"
