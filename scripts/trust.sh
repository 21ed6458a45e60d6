#!/usr/bin/env bash
# Tries to break the program for some minutes, and adds what was tried to docs/trust.md, one line for each part.
#   scripts/trust.sh [--minutes=8] [PART...]   default: all parts, those with the least time first
#   scripts/trust.sh --list                    the parts
# Parts share the minutes. Each continues where its last run stopped: with the next seeds, or with the corpus of inputs
# in build-fuzz/. A part that finds something keeps its output in build/trust/, and the script exits with 1.
set -euo pipefail
cd "$(dirname "$0")/.."
exec /usr/bin/python3 scripts/dev/trust.py "$@"
