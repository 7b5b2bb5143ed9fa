#!/bin/sh
# Installs BUILD into a fresh folder, builds train.cpp against it with find_package(Shard), and runs it. Usage: check.sh BUILD [FLAGS]
set -eu
build=$1
flags=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/installed" >/dev/null
cmake -S "$here" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/installed" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/train"
# The library shows the names of the header and no others.
others=$(find "$work/installed" -name libshard.so -exec nm -DC --defined-only {} + | grep -vE ' [A-Za-z] (shard::|(typeinfo|typeinfo name|vtable) for shard::)' || true)
[ -z "$others" ] || { echo "libshard.so exports more than its header declares:"; echo "$others" | head; exit 1; }
