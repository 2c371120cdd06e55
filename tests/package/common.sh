# What tests of the package share; they source it. It sets:
#   deb, build, bin   the package, the build's folder and its programs
#   log               what commands print; the tails of it and of the server's own log are shown if something fails
#   root              a new folder, which is removed at the end together with what leave() ends
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/release
bin="$PWD/$build/bin"
log="$(mktemp)"
root="$(mktemp -d)"
chmod 755 "$root"

say() { printf 'package: %s\n' "$*"; }
fail() {
  say "$*" >&2
  tail -n 20 "$log" >&2
  tail -n 20 "$root/var/log/palimpsest/palimpsestd.log" >&2 2> /dev/null || true
  exit 1
}
in_root() { (exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"); }
until_true() { # SECONDS WHAT COMMAND…
  local left="$1" what="$2"
  shift 2
  until "$@" > /dev/null 2>&1; do
    [ $((left -= 1)) -gt 0 ] || fail "$what"
    sleep 1
  done
}
files_of_it() { (cd "$root" && find etc var usr lib -name '*palimpsest*' 2> /dev/null | sort); }

check_installed() {
  in_root palimpsestd --version | grep -q "$("$bin/palimpsestd" --version | sed -n '1s/.* v/v/p')" || fail "the installed server doesn't run"
  [ "$(in_root stat -c %U:%a /var/lib/palimpsest)" = palimpsest:750 ] || fail "the data directory isn't the server's own"
  in_root dpkg-query -W -f '${Conffiles}\n' palimpsest | grep -q /etc/palimpsest.conf || fail "the configuration is no conffile"
  [ -e "$root/usr/share/man/man1/palimpsestd.1.gz" ] || fail "there is no man page"
}
choose_port() {
  port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
  uri="mongodb://127.0.0.1:$port/"
  sed -i "s/^  port: 27017/  port: $port/" "$root/etc/palimpsest.conf"
}
answers() { "$bin/palimpsest" stats --uri "$uri"; }
load_data() {
  until_true 120 "the server doesn't answer" answers
  "$bin/palimpsest" replay synthetic:wikipedia --records 50 --uri "$uri" >> "$log" 2>&1 || fail "the server takes no data"
}
has_data() { "$bin/palimpsest" stats --uri "$uri" | grep -q '^palimpsest .* 50 '; }

# COMMAND…: what runs a command where the package is
remove_and_purge() {
  say "removing, and purging"
  "$@" dpkg --remove palimpsest >> "$log" 2>&1 || fail "it can't be removed"
  [ -e "$root/etc/palimpsest.conf" ] && [ -n "$(ls "$root/var/lib/palimpsest")" ] || fail "data or configuration went before the purge"
  "$@" dpkg --purge palimpsest >> "$log" 2>&1 || fail "it can't be purged"
  [ "$before" = "$(files_of_it)" ] || fail "left behind: $(comm -13 <(echo "$before") <(files_of_it))"
  "$@" getent passwd palimpsest > /dev/null && fail "the user is still there"
  say "passed"
}
