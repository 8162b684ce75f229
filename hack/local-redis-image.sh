#!/usr/bin/env bash
# Makes a Redis image of the redis-server on this machine, for places where no registry is reachable: the two
# programs and the shared libraries that they name, nothing else. It stands in for the official image in
# docker-compose.yml (REDIS_IMAGE=tidemark-redis:local): same command names, same /data volume.
# Usage: hack/local-redis-image.sh [image name, default tidemark-redis:local]
set -euo pipefail
cd "$(dirname "$0")/.."
image=${1:-tidemark-redis:local}

[ "$(uname -s)" = Linux ] || { echo "an image of this machine's redis-server needs Linux" >&2; exit 1; }
hack/ensure-redis.sh

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/data" "$root/tmp"
for program in redis-server redis-cli; do
  path=$(command -v "$program")
  cp -L "$path" "$root/bin/$program"
  # Lines read "name => /path (address)", or "/path (address)" for the loader.
  ldd "$path" | grep -oE '/[^ ]+' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
chmod 1777 "$root/data" "$root/tmp"

# 999 is the redis user of the official image; any number but 0 does.
tar -C "$root" --numeric-owner --owner 999 --group 999 -c . | docker import \
  --change 'ENV PATH=/bin' --change 'USER 999:999' --change 'WORKDIR /data' --change 'VOLUME /data' \
  --change 'EXPOSE 6379' --change 'CMD ["redis-server", "--protected-mode", "no"]' - "$image" >/dev/null
echo "image $image: $(redis-server --version | cut -d' ' -f1-3)"
