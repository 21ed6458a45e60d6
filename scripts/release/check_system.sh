#!/usr/bin/env bash
# Runs README's two commands in a bare root of a Debian release, as a user with sudo. Needs root.
#   scripts/release/check_system.sh bookworm|trixie     scripts/quickstart.sh in a new root
#     --root         as root
#     --tests        also scripts/test.sh, in slices of at most 9 minutes
#     --tests=2/4    only this slice of the tests, in the root of an earlier call
# The root stays in build-system/. Changes that are not committed are not tested.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/release/roots.sh
usage() { sed -n '2,7s/^# //p' "$0"; }

suite='' user=cortado tests=no
for word in "$@"; do
  case $word in
    bookworm | trixie) suite=$word ;;
    --root) user=root ;;
    --tests) tests=all ;;
    --tests=[1-9]*/[1-9]*) tests=${word#--tests=} ;;
    -h | --help) usage; exit ;;
    *) echo "check_system.sh: unknown argument $word" >&2; usage >&2; exit 2 ;;
  esac
done
[ -n "$suite" ] || { usage >&2; exit 2; }
root=build-system/$suite-$user
home=/home/cortado
[ $user = cortado ] || home=/root

as_user() { # as_user LIMIT COMMAND: runs it in the clone, for at most LIMIT seconds
  local begin=$SECONDS
  inside "$root" "timeout --kill-after=20 $1 su - $user -c 'cd cortado && $2'"
  echo "check_system.sh: $2 on $suite as $user: $((SECONDS - begin)) s"
}

slices=4
slice() { as_user 540 "scripts/test.sh --slice=$1"; }

if [[ $tests == */* ]]; then slice "$tests"; exit; fi
scripts/install_deps.sh debootstrap git
bare_root "$suite" "$root"
if [ $user != root ]; then
  inside "$root" "apt-get -qq update && apt-get -qq install -y --no-install-recommends sudo >/dev/null
    useradd --create-home --shell /bin/bash $user && echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user"
fi
git clone --quiet --depth 1 "file://$PWD" "$root$home/cortado"
inside "$root" "chown -R $user: $home/cortado"
as_user 1800 scripts/quickstart.sh
[ $tests = all ] || exit 0
as_user 1800 'scripts/test.sh --list >/dev/null'  # builds
failed=0
for ((i = 1; i <= slices; ++i)); do slice $i/$slices || failed=1; done
exit $failed
