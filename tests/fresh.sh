#!/usr/bin/env bash
# Proved bare: in a new root that holds nothing but the base system of Debian 12, a clone of this commit in a path with a blank in it, and the two
# commands of README.md, copied out of it, as a user with sudo. Digits must be learnt and all tests pass. Before that, what ./dev does for root
# and for a user without rights.
#   tests/fresh.sh [--quick] [--results FILE]     --quick builds nothing; FILE gets the JUnit results of the tests
# Wants root (chroot), debootstrap and a mirror of Debian 12 among this machine's sources of packages; without them it says so and is content.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick=no results=
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=yes ;;
    --results) results=$(realpath -m "${2:?--results wants a file}"); shift ;;
    *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  shift
done
say() { printf '%s\n' "$*"; }
not_tried() { say "a bare Debian 12: not tried, as $*"; exit 0; }
fail() { say "a bare Debian 12: failed: $*"; exit 1; }

# ---- what README says: the block of code that has both commands
readme_commands() {
  awk '
    /^```/ { fenced = !fenced; next_block() ; next }
    fenced || /^    / { block = block $0 "\n"; next }
    { next_block() }
    END { next_block() }
    function next_block() { if (block ~ /\.\/dev run / && block ~ /\.\/dev test/) printf "%s", block; block = "" }' "$top/README.md" |
    sed -n 's/^[ $]*\(\.\/dev [^#]*[^# ]\) *\(#.*\)\{0,1\}$/\1/p'
}
mapfile -t commands < <(readme_commands)
[ "${#commands[@]}" -eq 2 ] && [[ "${commands[0]}" == "./dev run "* ]] && [ "${commands[1]}" = "./dev test" ] ||
  fail "README.md has no block with ./dev run FILE and ./dev test alone: ${commands[*]}"

# ---- a place to work in, which goes with this process: mounts are seen by no other, and end with it
[ "$(id -u)" -eq 0 ] || not_tried "a root for chroot needs root's rights"
command -v debootstrap >/dev/null || not_tried "debootstrap is missing"
if [ "${FRESH_INNER:-}" != yes ]; then
  unshare --mount --pid --fork --mount-proc true 2>/dev/null || not_tried "mounts of its own (unshare) are not allowed here"
  work=$(mktemp -d "${TMPDIR:-/tmp}/fresh.XXXXXX")
  inner=
  trap '[ -z "$inner" ] || kill "$inner" 2>/dev/null || true; wait; rm -rf --one-file-system "$work"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  arguments=()
  [ "$quick" = no ] || arguments+=(--quick)
  [ -z "$results" ] || arguments+=(--results "$results")
  FRESH_INNER=yes FRESH_WORK="$work" unshare --mount --pid --fork --kill-child --mount-proc "$0" "${arguments[@]}" &
  inner=$!
  status=0
  wait "$inner" || status=$?
  inner=
  exit "$status"
fi
work="$FRESH_WORK"
set -E
exec 3>&1   # what fails may have its output elsewhere
trap '{ say "a bare Debian 12: failed in line ${BASH_LINENO[0]}: $BASH_COMMAND"; tail -20 "$work/log"; } >&3' ERR

# What programs expect a kernel to show, and packages that all roots share.
mount_in() {  # mount_in ROOT
  mkdir -p "$work/debs" "$1/var/cache/apt/archives" &&
    mount --bind "$work/debs" "$1/var/cache/apt/archives" &&   # so that cases fetch a package once
    mount -t proc proc "$1/proc" &&
    mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" &&
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
}
unmount_in() { umount "$1/var/cache/apt/archives" "$1/proc" "$1/dev/shm" "$1/dev/pts"; }
mkdir -p "$work"/trial/{proc,dev/shm,dev/pts}
mount_in "$work/trial" 2>"$work/log" || { cat "$work/log"; not_tried "mounts that a root wants are not allowed here"; }
unmount_in "$work/trial"

# ---- the base system, of the mirror that this machine uses
mirror() { apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null | awk '$2 == "bookworm" && $3 == "Debian" && $4 == "main" { print $1; exit }'; }
url=$(mirror)
if [ -z "$url" ]; then apt-get update -qq >/dev/null 2>&1 || true; url=$(mirror); fi
[ -n "$url" ] || not_tried "this machine's sources of packages have no Debian 12"
SECONDS=0
debootstrap --variant=minbase bookworm "$work/base" "$url" >"$work/log" 2>&1 || { tail -3 "$work/log"; not_tried "debootstrap could not make a root"; }
# What only this machine's network wants: addresses, apt's settings, certificates.
cp /etc/resolv.conf /etc/hosts "$work/base/etc/"
apt-config dump | grep -E '^Acquire::(http|https|Check|ForceIPv|Retries)' >"$work/base/etc/apt/apt.conf.d/50network" || true
for one in /etc/apt/auth.conf /etc/apt/auth.conf.d /etc/pip.conf; do [ ! -e "$one" ] || cp -r "$one" "$work/base/$(dirname "$one")/"; done
mkdir -p "$work/base/usr/local/share/ca-certificates"
cp /usr/local/share/ca-certificates/*.crt "$work/base/usr/local/share/ca-certificates/" 2>/dev/null || true
mapfile -t passed < <(env | grep -E '^(PIP_|[a-z]+_proxy=|[A-Z]+_PROXY=)' | grep -v '^PIP_FIND_LINKS=')
rm -rf "$work"/base/var/cache/apt/archives/*.deb
echo force-unsafe-io >"$work/base/etc/dpkg/dpkg.cfg.d/quick"   # the root does not outlive this run
git clone -q --no-local --depth 1 "file://$top" "$work/clone"
git -C "$top" diff --quiet HEAD || say "what is not committed is not in it"
say "the base system of Debian 12: $(chroot "$work/base" dpkg-query -f '.\n' -W | wc -l) packages, made in $SECONDS s"

# new_root NAME: a copy of it with a user and the clone.
place="/home/user/a checkout"
new_root() {
  root="$work/$1"
  cp -a "$work/base" "$root"
  chroot "$root" useradd --create-home --shell /bin/bash user
  cp -r "$work/clone" "$root$place"
  chroot "$root" chown -R user: /home/user
  mount_in "$root"
  ln -sf pts/ptmx "$root/dev/ptmx"
}
drop_root() {
  unmount_in "$root"
  rm -rf --one-file-system "$root"
}
# as USER COMMAND: in the checkout, with the environment that logging in gives.
as() {
  local home=/root
  [ "$1" = root ] || home="/home/$1"
  chroot --userspec="$1:$1" --groups= "$root" /usr/bin/env -i HOME="$home" USER="$1" LOGNAME="$1" SHELL=/bin/bash TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${passed[@]}" /bin/bash -c "cd '$place' && $2" </dev/null
}
complete() { [ -z "$(as "$1" './dev packages --list')" ]; }

# ---- a user without rights is told what to ask for, and that is enough
new_root asks
for command in "${commands[@]}"; do
  status=0
  as user "$command" >"$work/told" 2>&1 || status=$?
  line=$(grep -E '^sudo apt-get install ' "$work/told") || true
  [ "$status" -eq 1 ] && [ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] && [ -n "$line" ] || { cat "$work/told"; fail "a user without rights is not told what to ask for by $command"; }
  [ ! -e "$root$place/build" ] || fail "$command began to build without what it needs"
done
SECONDS=0
as root "apt-get update -qq && ${line#sudo }" >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "what ./dev says to ask for cannot be installed: $line"; }
complete user || fail "what ./dev says to ask for is not all: $(as user './dev packages --list')"
say "a user without rights: told in one line, which is enough; installed in $SECONDS s"

# ---- root without sudo, and a user with sudo: the same list, so what one package shows is enough
lacks() {  # lacks USER PACKAGE: without it ./dev says so and installs it, and then has nothing to say
  as root "apt-get purge -y -qq $2" >"$work/log" 2>&1
  [ "$(as "$1" './dev packages' 2>&1)" = "installing $2" ] && complete "$1" && [ -z "$(as "$1" './dev packages' 2>&1)" ] || fail "./dev does not install $2 for $1"
}
lacks root ninja-build
say "root without sudo: installs what is missing"
with_sudo() {
  as root 'apt-get update -qq && apt-get install -y -qq --no-install-recommends sudo' >"$work/log" 2>&1 || { cat "$work/log"; not_tried "sudo could not be installed"; }
  echo 'user ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/user"
}
with_sudo
lacks user libcli11-dev
[ ! -e "$root/usr/bin/ccache" ] || fail "ccache has been installed"
say "a user with sudo: installs what is missing"
drop_root
if [ "$quick" = yes ]; then say "a bare Debian 12: what ./dev installs is enough (nothing was built)"; exit 0; fi

# ---- a user with sudo: README's commands
new_root sudo
with_sudo
# timed COMMAND: shows what it says; $installing gets the seconds until building began, $whole all of them.
timed() {
  say "\$ $1"
  local status=0
  SECONDS=0
  : >"$work/began"
  as user "$1" 2>&1 | while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ "$line" == "building Shard"* ]] && [ ! -s "$work/began" ]; then echo "$SECONDS" >"$work/began"; fi
  done | tee "$work/log" || status=$?
  whole=$SECONDS installing=$(cat "$work/began")
  return "$status"
}
timed "${commands[0]}" || fail "${commands[0]}"
accuracy=$(sed -n 's/^test accuracy \([0-9.]*\)$/\1/p' "$work/log" | tail -1)
awk -v got="${accuracy:-0}" 'BEGIN { exit !(got >= 0.9) }' || fail "the digits are not learnt: test accuracy ${accuracy:-unknown}"
first="${commands[0]}: $whole s, ${installing:-?} s of them until building had begun; test accuracy $accuracy"
status=0
timed "${commands[1]}" || status=$?
if [ -n "$results" ] && [ -e "$root$place/build/results.xml" ]; then mkdir -p "$(dirname "$results")"; cp "$root$place/build/results.xml" "$results"; fi
counted=$(tail -1 "$work/log")
[[ "$counted" =~ ^([0-9]+)\ passed,\ 0\ failed$ ]] && [ "$status" -eq 0 ] || fail "${commands[1]}: $counted"
[ "${BASH_REMATCH[1]}" -gt 1000 ] || fail "${commands[1]} ran ${BASH_REMATCH[1]} tests only"
say "$first"
say "${commands[1]}: $whole s, ${installing:-?} s of them until building had begun"
sed 's/&#[0-9]*;//g' "$root$place/build/results.xml" | grep -iE 'not tried|left out|, recorded |not counted' | sed 's/^/  /' | sort -u || true
say "a bare Debian 12: digits are learnt, $counted"
