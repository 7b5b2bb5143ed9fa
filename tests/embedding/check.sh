#!/bin/sh
# Installs BUILD into a fresh folder and uses it as hosts do: C++ (shared and static) and C by the CMake package, C by pkg-config,
# Python by ctypes, Rust by declaration. Usage: check.sh BUILD [FLAGS]; with FLAGS, of sanitizers, programs of C and C++ alone.
set -eu
build=$1
flags=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/installed"   # it may be moved
test -f "$work/installed/include/shard.h" && test -f "$work/installed/include/shard_c.h"
test -f "$work/installed/share/licenses/shard/LICENSE"
# The lessons find their data where they were installed, and the tutorial is there.
test -f "$work/installed/share/doc/shard/scripts/tutorial/01_numbers.md"
(cd "$work/installed/share/doc/shard" && "$work/installed/bin/shard" run scripts/layouts/rules.shard && "$work/installed/bin/shard" run scripts/ports/gpt.shard) >/dev/null
(mkdir "$work/empty" && cd "$work/empty" && "$work/installed/bin/shard" run ../installed/share/doc/shard/scripts/session/pictures.shard && test -f pictures/layout.svg) >/dev/null
library=$(dirname "$(find "$work/installed" -name libshard.so)")
test -f "$library/libshard.a"
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags" \
      -DCMAKE_C_FLAGS="$flags -Wall -Wextra -Werror -pedantic" >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/train"
[ "$("$work/build/group")" = "140 = 140, by 1 process" ]
[ "$("$work/installed/bin/shard" launch -n 2 "$work/build/group")" = "140 = 140, by 2 processes" ]
# The library shows the names of the headers and no others.
others=$(find "$work/installed" -name libshard.so -exec nm -DC --defined-only {} + | grep -vE ' [A-Za-z] (shard::|(typeinfo|typeinfo name|vtable) for shard::|shard_[a-z_]+$)' || true)
[ -z "$others" ] || { echo "libshard.so exports more than its headers declare:"; echo "$others" | head; exit 1; }
"$work/build/every"
if [ -x "$work/build/train_static" ]; then "$work/build/train_static"; else echo "no oneTBB or zlib for developers: the static library is not tried"; fi
[ -z "$flags" ] || exit 0
export LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH="$library/pkgconfig"
  # shellcheck disable=SC2046
  cc -std=c11 "$here/every.c" $(pkg-config --cflags --libs shard) -o "$work/by_pkg_config"
  "$work/by_pkg_config"
else
  echo "no pkg-config: it is not tried"
fi
if command -v python3 >/dev/null; then
  python3 "$here/calls.py" "$library/libshard.so"
  python3 "$here/pages.py" "$work/installed" "$here/../../interpreter/embed/README.md"
else
  echo "no Python: it is not tried"
fi
if command -v rustc >/dev/null; then
  rustc --edition 2021 -o "$work/calls" "$here/calls.rs" -L "$library" -l shard
  "$work/calls"
else
  echo "no Rust: it is not tried"
fi
