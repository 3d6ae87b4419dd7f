#!/bin/sh
# The main job on the bundled sample agent: shows every command before it runs
# it, works in a temporary home, and leaves the source tree as it was.
set -eu
cd "$(dirname "$0")/.."
root=$PWD

tree() { git -C "$root" status --porcelain 2>/dev/null || true; }
before=$(tree)

home=$(mktemp -d "${TMPDIR:-/tmp}/sessctl-demo.XXXXXX")
trap 'rm -rf "$home"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Sessions that changed within the last minute are left alone, so the copies
# get a time in the past. No setting of yours reaches the demo.
cp -R testdata/sample/. "$home"
find "$home" -type f -exec touch -t 202606010900 {} +
for name in $(env | cut -d= -f1); do
	case $name in
	SESSCTL_* | OPENCLAW_* | PI_* | XDG_*) unset "$name" ;;
	esac
done
PATH=$root/bin:$PATH
HOME=$home
export HOME PATH

# say prints a command as one would type it: words with spaces are quoted.
say() {
	printf '\n$'
	for word in "$@"; do
		case $word in
		*' '*) printf ' "%s"' "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$@"
}

cd "$home"
say sessctl sizes
say sessctl compact --agent coordinator --dry-run
say sessctl compact --agent coordinator
printf '\n$ sessctl archives show 600fa7f5 --summary | head -n 60\n'
sessctl archives show 600fa7f5 --summary | head -n 60
say sessctl recall "$(cat "$root/testdata/sample-question.txt")" --limit 3
say sessctl archives verify
say sessctl sizes

cd "$root"
if [ "$before" != "$(tree)" ]; then
	echo "demo: the source tree changed:" >&2
	tree >&2
	exit 1
fi
printf '\nThe temporary home is removed again; the source tree is as it was.\n'
