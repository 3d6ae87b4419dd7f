# Part of accept.sh: the programs for other processors and systems. linux/arm64 runs
# under qemu, which comes out of Debian's package without installing that. A program
# of macOS cannot be run: its header is looked at.

emulator() { # the path of an emulator of arm64; env where none is needed
	[ "$goarch" != arm64 ] || { command -v env && return; }
	command -v qemu-aarch64-static || command -v qemu-aarch64 && return
	kept=$cache/qemu/qemu-aarch64-static
	if [ ! -x "$kept" ] && command -v apt-get > /dev/null && command -v dpkg-deb > /dev/null; then
		mkdir -p "$cache/qemu" "$work/qemu"
		(cd "$work/qemu" && apt-get -q download qemu-user-static && dpkg-deb -x qemu-user-static_*.deb .) > "$work/qemu.log" 2>&1 &&
			cp "$work/qemu/usr/bin/qemu-aarch64-static" "$kept.new" && mv "$kept.new" "$kept"
		rm -rf "$work/qemu"
	fi
	[ -x "$kept" ] && echo "$kept"
}
emulated() { # WRAPPER PROGRAM: a command that runs it
	printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "$2" > "$1"
	chmod 755 "$1"
}
header() { # FILE BYTES: what a program begins with
	[ "$(od -An -tx1 -N8 "$1" | tr -d ' \n')" = "$2" ]
}
# The demo takes the program that is in bin of its clone, and ends with an error if
# a command does: compact, recall and archives verify are among them.
demo() {
	sh "$work/here/testdata/demo.sh" > "$work/demo" 2>&1 && grep -q 'end of sessctl recall' "$work/demo" && grep -q ', 0 problems' "$work/demo" || { cat "$work/demo" && return 1; }
}

arm64() {
	at=$work/others/sessctl_${version}_linux_arm64/sessctl
	if command -v dpkg-deb > /dev/null; then
		dpkg-deb -x "$work"/others/*_arm64.deb "$work/others/deb"
		check 'linux/arm64: the package of Debian has the program of the archive' cmp "$at" "$work/others/deb/usr/bin/sessctl"
	fi
	emulator=$(emulator) || {
		skipped 'linux/arm64: running it: there is no qemu here, and no apt-get to have it from'
		return
	}
	mkdir -p "$work/here/bin"
	emulated "$work/here/bin/sessctl" "$at"
	check 'linux/arm64: the program tells version, commit and date' tells "$work/here/bin/sessctl"
	check 'linux/arm64: sizes, compact, recall, archives verify' demo
	rm "$work/here/bin/sessctl"
}

build "$work/here" "" "$work/others" linux/arm64,darwin/arm64,darwin/amd64
for of in linux_arm64 darwin_arm64 darwin_amd64; do
	tar -xzf "$work/others/sessctl_${version}_$of.tar.gz" -C "$work/others"
done
check 'darwin/arm64: a Mach-O program of arm64 (not run)' header "$work/others/sessctl_${version}_darwin_arm64/sessctl" cffaedfe0c000001
check 'darwin/amd64: a Mach-O program of x86-64 (not run)' header "$work/others/sessctl_${version}_darwin_amd64/sessctl" cffaedfe07000001
if [ "$(uname -s)" = Linux ]; then
	arm64
else
	skipped 'linux/arm64: running it needs Linux'
fi
rm -rf "$work/others"
