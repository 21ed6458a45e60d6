#!/usr/bin/env bash
# Runs three programs at once for long and looks whether they grow: a training with snapshots, tests and a run folder; a
# pipeline on a dataset with bad records; cortado-serve under clients of which one request in a hundred is hostile.
#   scripts/dev/soak.sh [--minutes=60] [--bin=build/bin]
exec /usr/bin/python3 "$(dirname "$0")/soak/soak.py" "$@"
