#!/usr/bin/env bash
# Formats the C++ files that are named, or that differ from the last commit; --check only tells which would change.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v clang-format >/dev/null || { echo "format.sh: needs Debian's package clang-format" >&2; exit 1; }
mode=(-i)
if [ "${1-}" = --check ]; then mode=(--dry-run --Werror); shift; fi
if [ $# -eq 0 ]; then
  mapfile -t changed < <(git diff --name-only --diff-filter=d HEAD -- '*.h' '*.cc' '*.cu' '*.cuh')
  set -- "${changed[@]}"
fi
[ $# -eq 0 ] || clang-format "${mode[@]}" "$@"
