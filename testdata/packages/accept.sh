#!/bin/sh
# Builds the packages of this commit twice, in two places, and compares the bytes;
# installs them into clean systems, works there as a user does, upgrades, removes
# and purges. Each check is a line that begins with ok, FAILED or skipped.
#
# It needs git and Go. The systems need Linux, root and debootstrap (Debian's mirror
# is asked once; ACCEPT_DIR keeps it), RPM needs rpm. What cannot be had is skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(git -C "$here" rev-parse --show-toplevel)
cache=${ACCEPT_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/sessctl-accept}
work=$(mktemp -d "${TMPDIR:-/tmp}/sessctl-packages.XXXXXX")
mounted=
finish() {
	for place in $mounted; do umount "$place" 2>/dev/null || true; done
	chmod -R u+w "$work/modules" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
: > "$work/failed"

check() { # NAME COMMAND...: one line for it
	what=$1
	shift
	if "$@" > "$work/out" 2>&1; then
		echo "ok       $what"
	else
		echo "FAILED   $what"
		sed 's/^/         /' "$work/out" | tail -20
		echo "$what" >> "$work/failed"
	fi
}
skipped() { echo "skipped  $1"; }

# --- build -----------------------------------------------------------------

goarch=$(${GO:-go} env GOARCH)
build() { # CLONE VERSION DIR [TARGETS]: as another person would, elsewhere
	(cd "$1" && GOFLAGS=-buildvcs=true "$work/tools/packages" -version "$2" -targets "${4:-linux/$goarch}" -tools "$work/tools" "$3") > "$work/build.log" 2>&1 || {
		tail -20 "$work/build.log"
		exit 1
	}
}
mkdir -p "$work/tools" "$work/there"
(cd "$source/tools/packages" && CGO_ENABLED=0 ${GO:-go} build -trimpath -o "$work/tools/" tool)
(cd "$source" && CGO_ENABLED=0 ${GO:-go} build -trimpath -o "$work/tools/" ./internal/packages)
git clone -q "$source" "$work/here"
git -C "$work/here" checkout -q "$(git -C "$source" rev-parse HEAD)"
git clone -q "$work/here" "$work/there/clone"
build "$work/here" "" "$work/new"
(umask 077 && TZ=Asia/Bangkok LC_ALL=C build "$work/there/clone" "" "$work/again")
check 'built twice in two places: the same bytes' diff -r "$work/new" "$work/again"
rm -rf "$work/again"
version=$(cd "$work/new" && ls ./*_checksums.txt | sed 's,^./sessctl_,,; s,_checksums.txt$,,')

# What was before: the last commit, in a version that is lower than all others.
older=$(git -C "$work/here" rev-parse -q --verify HEAD~1 || git -C "$work/here" rev-parse HEAD)
git -C "$work/there/clone" checkout -q "$older"
if ! [ -f "$work/there/clone/tools/packages/go.mod" ]; then
	skipped 'the commit before makes no packages: this one stands for it'
	git -C "$work/there/clone" checkout -q -
fi
build "$work/there/clone" 0.0.0-0.before "$work/old"

cd "$work/new"
check 'the checksums are right' sha256sum -c --quiet "sessctl_${version}_checksums.txt"
check 'the list of modules is one of CycloneDX, with licences' grep -q '"bomFormat": *"CycloneDX"' "sessctl_${version}_linux_$goarch.cdx.json"
tar -xzf "sessctl_${version}_linux_$goarch.tar.gz" -C "$work"
archived=$work/sessctl_${version}_linux_$goarch
tells() { "$@" version --json | tr -d ' \n' | grep -Eq "\"version\":\"$version\",\"commit\":\"[0-9a-f]{40}\",\"date\":\"20[0-9TZ:-]+\""; }
check 'the program of the archive tells version, commit and date' tells "$archived/sessctl"
check 'the archive has manual, completions, units, licences and pages' ls "$archived/bin/share/doc/sessctl/THIRD-PARTY-LICENSES" "$archived/bin/share/man/man1/sessctl.1" "$archived/bin/share/powershell/sessctl.ps1" "$archived/contrib/systemd/user/sessctl-nightly.timer" "$archived/LICENSE" "$archived/NOTICE" "$archived/docs/compact.md"

# --- go install --------------------------------------------------------------

# A proxy with this module alone; what it needs comes from the usual one. A module
# is the tree without the modules below it.
module=github.com/sessctl/sessctl
proxy=$work/proxy/$module/@v
mkdir -p "$proxy" "$work/gobin"
commit=$(git -C "$work/here" rev-parse --short=12 HEAD)
name=v0.0.0-$(TZ=UTC git -C "$work/here" log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)-$commit
below=$(cd "$work/here" && git ls-files '*/go.mod' | sed 's,^,:!,; s,/go.mod$,,')
(cd "$work/here" && git archive --format=zip --prefix="$module@$name/" -o "$proxy/$name.zip" HEAD $below)
cp "$work/here/go.mod" "$proxy/$name.mod"
printf '{"Version":"%s","Time":"%s"}\n' "$name" "$(TZ=UTC git -C "$work/here" log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)" > "$proxy/$name.info"
printf '%s\n' "$name" > "$proxy/list"
cat > "$work/go-install" <<END
cd / && GOBIN=$work/gobin GOFLAGS=-modcacherw CGO_ENABLED=0 GONOSUMDB=$module GOPROXY=file://$work/proxy,\$(${GO:-go} env GOPROXY) ${GO:-go} install $module@$name
END
check 'go install from the module path' sh "$work/go-install"
installed() { "$work/gobin/sessctl" version --json | tr -d ' \n' | grep -q "\"version\":\"$name\",\"commit\":\"$commit\",\"date\":\"20"; }
check 'go install: version, commit and date are told' installed
rm -rf "$(${GO:-go} env GOMODCACHE)/$module@$name" "$(${GO:-go} env GOMODCACHE)/cache/download/$module/@v/$name".*

# --- other processors and systems ---------------------------------------------

. "$here/others.sh"

# --- systems -----------------------------------------------------------------

finished() {
	failures=$(wc -l < "$work/failed")
	[ "$failures" -eq 0 ] || { echo "$failures FAILED"; exit 1; }
	echo 'all that ran was accepted'
	exit 0
}
[ "$(uname -s)" = Linux ] || { skipped 'installing: needs Linux'; finished; }
[ "$(id -u)" = 0 ] || { skipped 'installing: needs root'; finished; }

listing() { (cd "$1" && find . -xdev ! -type d ! -path './proc/*' ! -path './dev/pts/*' ! -path './var/lib/dpkg/*' ! -path './var/log/*' ! -path './var/cache/*' ! -path './var/lib/rpm/*' ! -path './usr/lib/sysimage/*' ! -path './run/*' ! -path './home/lea/*' | sort); }
sample() { # ROOT: a home of lea with the sample agent, as old as demo.sh makes it
	mkdir -p "$1/home/lea"
	cp -R "$source/testdata/sample/." "$1/home/lea"
	find "$1/home/lea" -type f -exec touch -t 202606010900 {} +
	chown -R 1000:1000 "$1/home/lea"
}
lea() { # ROOT COMMAND...
	root=$1
	shift
	chroot --userspec=1000:1000 "$root" /usr/bin/env -i HOME=/home/lea PATH=/usr/bin:/bin LANG=C.UTF-8 TERM=xterm "$@"
}
job() { # ROOT: what a user does on the first day
	lea "$1" sessctl sizes && lea "$1" sessctl compact --agent coordinator && lea "$1" sessctl recall "label printer" && lea "$1" sessctl archives verify
}
upgraded() { [ "$(lea "$1" sessctl --version | cut -d' ' -f2)" = "$version" ] && lea "$1" sessctl archives verify && lea "$1" sessctl recall "label printer"; }
off() { [ -z "$(find "$1/etc/systemd" "$1/usr/lib/systemd" -type l -name 'sessctl*' 2>/dev/null)" ] && [ -f "$1/usr/lib/systemd/user/sessctl-nightly.timer" ]; }

. "$here/debian.sh"
. "$here/rpm.sh"
finished
