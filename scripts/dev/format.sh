#!/usr/bin/env bash
# Formats the given C++ files; default: those that differ from the last commit. --check only lists what would change.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v clang-format >/dev/null || { echo "format.sh: clang-format is not installed" >&2; exit 1; }
mode=(-i)
if [ "${1-}" = --check ]; then mode=(--dry-run --Werror); shift; fi
if [ $# -eq 0 ]; then
  mapfile -t changed < <(git diff --name-only --diff-filter=d HEAD -- '*.h' '*.cc' '*.cu' '*.cuh')
  set -- "${changed[@]}"
fi
[ $# -eq 0 ] || clang-format "${mode[@]}" "$@"
