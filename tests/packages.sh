#!/bin/sh
# Makes the packages and uses them on a bare Debian: what the .deb depends on is unpacked into an empty root, the .deb is installed there, runs
# the quickstart and is removed without a trace. Names, copyright and changelog are as Debian wants them (lintian looks further, where it is
# installed). By hand: packages.sh BUILD. Wants a finished build, root (chroot) and Debian's archive.
set -eu
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
say() { printf '%s\n' "$*"; }

(cd "$build" && cpack -B "$work/packages" >"$work/cpack.log" 2>&1) || { cat "$work/cpack.log"; exit 1; }
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' "$(dirname "$0")/../CMakeLists.txt")
deb="$work/packages/shard_${version}_$(dpkg --print-architecture).deb"
tgz="$work/packages/shard-$version-linux-$(uname -m).tar.gz"
for file in "$deb" "$tgz"; do [ -e "$file" ] || { say "there is no $(basename "$file"):" "$work"/packages/*.*; exit 1; }; done
for file in "$deb" "$tgz"; do
  size=$(stat -c %s "$file")
  say "$(basename "$file"): $size bytes"
  [ "$size" -lt 8000000 ] || { say "it is larger than 8 MB"; exit 1; }
done
say "depends on: $(dpkg-deb -f "$deb" Depends)"
dpkg-deb -c "$deb" >"$work/in_deb"
tar -tzf "$tgz" >"$work/in_tgz"
for path in bin/shard lib/libshard.so.0 include/shard.h include/shard_c.h share/man/man1/shard.1.gz share/bash-completion/completions/shard \
  share/zsh/vendor-completions/_shard share/fish/vendor_completions.d/shard.fish share/shard/modules/nn.shard share/doc/shard/copyright \
  share/doc/shard/CHANGELOG.md share/doc/shard/scripts/quickstart.shard share/doc/shard/scripts/data/digits.csv.gz \
  share/doc/shard/scripts/tutorial/01_numbers.md; do
  grep -q " \./usr/$path" "$work/in_deb" || { say "the package lacks $path"; exit 1; }
  grep -q "/$path" "$work/in_tgz" || { say "the archive lacks $path"; exit 1; }
done
if grep -q '\.a$' "$work/in_tgz"; then say "the static library is in it"; exit 1; fi

# What Debian asks of a package's papers: the license in the form that tools read, all of LICENSE's words, a changelog of this version.
dpkg-deb -x "$deb" "$work/unpacked"
papers="$work/unpacked/usr/share/doc/shard"
for field in 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' 'Upstream-Name: Shard' 'Files: \*' 'Copyright: 20[0-9][0-9] .*' 'License: Expat'; do
  grep -q "^$field$" "$papers/copyright" || { say "copyright lacks $field"; exit 1; }
done
words() { tr -s ' \n' '\n\n' | grep -v '^\.$' | tr '\n' ' '; }
terms=$(sed '1,/^Copyright/d' "$(dirname "$0")/../LICENSE" | words)
case "$(words <"$papers/copyright")" in *"${terms# }"*) ;; *) say "copyright says something else than LICENSE"; exit 1 ;; esac
gzip -dc "$papers/changelog.gz" >"$work/changelog"
[ "$(dpkg-parsechangelog -l "$work/changelog" -S Version)" = "$version" ] || { say "the changelog is not of $version"; exit 1; }
dpkg-parsechangelog -l "$work/changelog" -S Changes | grep -q '\* ' || { say "the changelog says nothing"; exit 1; }
dpkg-deb -c "$deb" | awk '$2 != "root/root" || $1 !~ /^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxrwxrwx)$/ { print; bad = 1 } END { exit bad }' || { say "owners or permissions that are not Debian's"; exit 1; }
(cd "$work/unpacked" && dpkg-deb -I "$deb" md5sums | md5sum --quiet -c -) || exit 1
if command -v lintian >/dev/null; then lintian --fail-on error "$deb" || exit 1; else say "no lintian: not tried"; fi

# An empty machine, as apt sees it: everything that is depended on has to come. A shell and ldconfig, which every Debian has, are for dpkg.
mkdir -p "$work/root/var/lib/dpkg/info" "$work/root/var/lib/dpkg/updates" "$work/debs/partial"
: >"$work/root/var/lib/dpkg/status"
apt-get -qq -y --no-install-recommends -o Dir::State::Status="$work/root/var/lib/dpkg/status" -o Dir::Cache::archives="$work/debs" -o Debug::NoLocking=1 \
  --download-only install "$deb" dash libc-bin >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; exit 1; }
for one in "$work"/debs/*.deb; do dpkg-deb -x "$one" "$work/root"; done
[ -e "$work/root/bin/sh" ] || ln -s dash "$work/root/bin/sh"
say "unpacked: $(cd "$work/debs" && ls ./*.deb | sed 's/_.*//; s#^\./##' | tr '\n' ' ')"

files() { (cd "$work/root" && find . -path ./var/lib/dpkg -prune -o -path ./var/log -prune -o -path ./etc/ld.so.cache -o -path ./var/cache/ldconfig -prune -o -print | sort); }
files >"$work/before"
dpkg --root="$work/root" --force-depends --force-not-root --no-triggers -i "$deb" >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; exit 1; }
in_root() { chroot "$work/root" /usr/bin/shard "$@"; }
in_root --version
[ "$(in_root /usr/share/doc/shard/scripts/quickstart.shard | tail -1)" = ok ] || { say "the quickstart does not run"; exit 1; }
in_root check /usr/share/doc/shard/scripts/data_parallel.shard
say "the quickstart runs"
dpkg --root="$work/root" --force-not-root --no-triggers -P shard >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; exit 1; }
files >"$work/after"
diff "$work/before" "$work/after" || { say "something is left"; exit 1; }
say "removed without a trace"

# The archive runs wherever it is unpacked, with this machine's libraries.
tar -xzf "$tgz" -C "$work"
[ "$("$work"/shard-*/bin/shard "$work"/shard-*/share/doc/shard/scripts/quickstart.shard | tail -1)" = ok ] || { say "the archive does not run"; exit 1; }
say "the archive runs"
