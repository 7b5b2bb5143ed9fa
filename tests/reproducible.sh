#!/bin/sh
# The same commit built twice gives the same bytes: two clones in folders of different names and depths, one built after the other, then packed
# under another user mask and another time zone; or two finished builds of one commit. Program, library, module for MPI and both packages are compared.
# By hand, ten minutes: reproducible.sh [BUILD BUILD]
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '%s\n' "$*"; }

make() {  # make CLONE: a build from nothing, which no cache helps
  mkdir -p "$(dirname "$1")"
  git clone -q --no-local "file://$top" "$1"
  cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCCACHE=OFF -DSHARD_TESTS=OFF >/dev/null
  cmake --build "$1/build" >"$work/log" || { cat "$work/log"; exit 1; }
}
if [ $# -eq 2 ]; then
  first=$(cd "$1" && pwd) second=$(cd "$2" && pwd)
else
  make "$work/one" && make "$work/somewhere/quite else/two"
  first="$work/one/build" second="$work/somewhere/quite else/two/build"
fi
"$first/shard" --version
(cd "$first" && cpack -B "$work/packages 1" >"$work/log") || { cat "$work/log"; exit 1; }
(cd "$second" && umask 077 && TZ=Asia/Tokyo cpack -B "$work/packages 2" >"$work/log") || { cat "$work/log"; exit 1; }

status=0
same() {  # same NAME FILE FILE
  if cmp -s "$2" "$3"; then say "the same: $1 ($(sha256sum "$2" | cut -c1-16), $(stat -L -c %s "$2") bytes)"; else say "they differ: $1"; status=1; fi
}
same shard "$first/shard" "$second/shard"
for name in libshard.so libshard.a libshard_mpi.so; do
  one=$(find "$first" -name "$name" -not -path '*/_CPack_Packages/*' | head -1)
  [ -z "$one" ] || same "$name" "$one" "$second/${one#"$first/"}"
done
for one in "$work/packages 1"/shard*.deb "$work/packages 1"/shard*.tar.gz; do same "$(basename "$one")" "$one" "$work/packages 2/$(basename "$one")"; done
exit "$status"
