# Part of accept.sh: the package of RPM in an empty root. The program is static, so
# it runs there with nothing else.

redhat() {
	root=$work/rpm
	mkdir -p "$root/tmp" "$root/dev" "$root/usr/bin" "$root/var/lib/rpm"
	: > "$root/dev/null"
	rpm --root "$root" --initdb
	install -m 755 "$(command -v env)" "$root/usr/bin/env" && libraries "$root" "$root/usr/bin/env"
	sample "$root"
	listing "$root" > "$work/before"
	check 'RPM: install the version before' rpm --root "$root" --force-debian -i "$work"/old/*.rpm
	check 'RPM: a first day: sizes, compact, recall, verify' job "$root"
	check 'RPM: upgrade' rpm --root "$root" --force-debian -U "$work"/new/*.rpm
	check 'RPM: the new version finds what the old one kept' upgraded "$root"
	check 'RPM: every file is as it was packed' rpm --root "$root" -V sessctl
	check 'RPM: pages, completions and licence are where they belong' ls "$root/usr/share/man/man1/sessctl-compact.1" "$root/usr/share/man/man7/sessctl-files.7" "$root/usr/share/bash-completion/completions/sessctl" "$root/usr/share/zsh/site-functions/_sessctl" "$root/usr/share/fish/vendor_completions.d/sessctl.fish" "$root/usr/share/licenses/sessctl/LICENSE"
	check 'RPM: the units are there, and off' off "$root"
	check 'RPM: remove' rpm --root "$root" --force-debian -e sessctl
	listing "$root" > "$work/after"
	check 'RPM: nothing is left but what is the user'"'"'s' diff "$work/before" "$work/after"
	check 'RPM: what the user has is still there' ls "$root/home/lea/.local/share/sessctl/memory/memory.db" "$root/home/lea/.openclaw/session_archive/coordinator"
}

# libraries copies what a program of this system loads.
libraries() { # ROOT PROGRAM
	ldd "$2" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$1$(dirname "$library")"
		cp -L "$library" "$1$library"
	done
}

if ! command -v rpm > /dev/null; then
	skipped 'RPM: there is no rpm here'
else
	redhat
fi
