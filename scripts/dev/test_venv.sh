#!/usr/bin/env bash
# Makes build/test-venv, a Python with what tests need from PyPI and Debian does not have. Those tests report themselves
# skipped without it. Does nothing, quickly, when it is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${1:-build}/test-venv
needed=('tritonclient[http,grpc]' tensorboard)

[ "$(cat "$venv/complete" 2>/dev/null)" = "${needed[*]}" ] && exit
/usr/bin/python3 -c 'import ensurepip' 2>/dev/null || scripts/install_deps.sh python3-venv
rm -rf "$venv"
/usr/bin/python3 -m venv "$venv"
"$venv/bin/pip" install -q --disable-pip-version-check "${needed[@]}"
echo "${needed[@]}" > "$venv/complete"
