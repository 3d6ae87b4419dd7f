#!/bin/sh
# Looks at the pages that sessctl writes in a headless Chromium, and leaves
# pictures of them in DIR (dist/pages) for a person to look at. axe-core comes from
# npm, once, into the cache of make accept; without npm it is left out.
set -eu
dir=${1:-dist/pages}
version=4.14.1
cache=${ACCEPT_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/sessctl-accept}/axe-core-$version
axe=$cache/node_modules/axe-core/axe.min.js
if [ ! -f "$axe" ] && command -v npm >/dev/null; then
	mkdir -p "$cache"
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$cache" "axe-core@$version" >&2 || true
fi
[ -f "$axe" ] || { echo 'skipped: axe-core cannot be had here' >&2; axe=; }
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
rm -f "$dir"/*.png
SESSCTL_PAGES=$dir SESSCTL_AXE=$axe CGO_ENABLED=0 ${GO:-go} test -count=1 -timeout 20m -v -run TestBrowserPages ./internal/smallpackages
echo "pictures: $dir"
