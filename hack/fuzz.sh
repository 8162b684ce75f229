#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other: `go test -fuzz` takes only one target at a time.
# Usage: hack/fuzz.sh [time per target, default 10s]
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}
count=0

while IFS=: read -r file _ line; do
  name=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
  package=$(dirname "$file")
  printf '== %s %s, %s\n' "$package" "$name" "$time"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package"
  count=$((count + 1))
done < <(grep -rnHE --include='*_test.go' '^func Fuzz' . || true)

if [ "$count" = 0 ]; then
  echo "no fuzz target found" >&2
  exit 1
fi
printf '== %d fuzz targets passed\n' "$count"
