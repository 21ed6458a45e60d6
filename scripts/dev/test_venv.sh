#!/usr/bin/env bash
# Creates build/test-venv, a Python environment with the packages that tests need and Debian does not have. Tests that
# need it are skipped without it. Returns at once if it exists.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${1:-build}/test-venv
needed=('tritonclient[http,grpc]' tensorboard)

[ "$(cat "$venv/complete" 2>/dev/null)" = "${needed[*]}" ] && exit
/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || scripts/install_deps.sh python3-venv
echo "test_venv.sh: installing ${needed[*]} from PyPI in $venv"
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check "${needed[@]}"
echo "${needed[@]}" > "$venv/complete"
