#!/usr/bin/env bash
# Runs three programs for an hour, and fails if their memory, descriptors or threads grow: a training with snapshots,
# tests and a run folder; a data pipeline with bad records; cortado-serve, to which one request in a hundred is hostile.
#   scripts/dev/soak.sh [--minutes=60] [--bin=build/bin]
exec /usr/bin/python3 "$(dirname "$0")/soak/soak.py" "$@"
