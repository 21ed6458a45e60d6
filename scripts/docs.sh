#!/usr/bin/env bash
# Builds the documentation as a site: scripts/docs.sh [FOLDER], by default into build-docs/. Broken links are errors.
# Needs Debian's packages mkdocs and mkdocs-material, and installs nothing.
set -euo pipefail
case "${1-}" in
-*)
  echo "usage: scripts/docs.sh [FOLDER]" >&2
  [ "$1" = --help ] && exit 0
  exit 2
  ;;
esac
out=$(realpath -m "${1:-$(dirname "$0")/../build-docs}")
cd "$(dirname "$0")/.."

missing=()
for package in mkdocs mkdocs-material; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "docs.sh: error: packages are missing: ${missing[*]}" >&2
  echo "hint: apt-get install ${missing[*]}" >&2
  exit 1
fi
/usr/bin/python3 -m mkdocs build --strict --site-dir "$out" 2>&1 | sed '/^INFO/d'
echo "$out/index.html"
