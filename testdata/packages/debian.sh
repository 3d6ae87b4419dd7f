# Part of accept.sh: the package of Debian in a system that debootstrap has made.

man_pages() {
	lea "$1" sh -c 'man sessctl-compact | col -b | grep -q SESSCTL-COMPACT' && lea "$1" sh -c 'man 7 sessctl-files | col -b | grep -q memory-forgotten'
}
# A shell in a terminal is given what a person types, and the tabulator.
bash_tab() {
	lea "$1" sh -c 'printf "sessctl archives ver\t --quick --js\t\nexit\n" | script -qec "bash --rcfile /etc/bash_completion -i" /dev/null' > "$work/typed" 2>&1
	grep -q '"schema' "$work/typed" || { cat "$work/typed" && return 1; }
}
zsh_tab() {
	cat > "$1/tmp/type.zsh" <<'END'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'autoload -U compinit; compinit -u -D; PS1=; echo loa""ded'
zpty -r -m z out '*loaded*'
zpty -n -w z $'sessctl archives ver\t'
sleep 3
zpty -n -w z $'--quick --js\t'
sleep 3
zpty -n -w z $'\n'
zpty -r -m z more '*schema*'
print -r -- "$more"
END
	lea "$1" timeout 60 zsh -f /tmp/type.zsh > "$work/typed" 2>&1
	grep -q '"schema' "$work/typed" || { cat "$work/typed" && return 1; }
}
fish_tab() { lea "$1" fish -c 'complete -C "sessctl archives ver"' | grep -q '^verify'; }
powershell_parses() {
	pwsh -NoProfile -Command '$errors = $null; [void][System.Management.Automation.Language.Parser]::ParseFile($args[0], [ref]$null, [ref]$errors); exit $errors.Count' "$archived/bin/share/powershell/sessctl.ps1"
}

debian() {
	arch=$(dpkg --print-architecture)
	root=$work/debian
	base=$cache/debian-bookworm-$arch.tar
	if [ ! -f "$base" ]; then
		mkdir -p "$cache"
		debootstrap --variant=minbase --include=man-db,bash-completion,zsh,fish,bsdutils bookworm "$root" http://deb.debian.org/debian > "$work/debootstrap.log" 2>&1 || {
			skipped 'Debian: its mirror cannot be reached'
			return
		}
		tar -cf "$base.new" -C "$root" . && mv "$base.new" "$base"
		rm -rf "$root"
	fi
	mkdir -p "$root"
	tar -xf "$base" -C "$root"
	mount -t proc proc "$root/proc" && mounted="$root/proc $mounted"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$root/dev/pts" && mounted="$root/dev/pts $mounted"
	rm -f "$root/dev/ptmx" && ln -s pts/ptmx "$root/dev/ptmx"
	echo 'lea:x:1000:1000::/home/lea:/bin/bash' >> "$root/etc/passwd"
	sample "$root"
	listing "$root" > "$work/before"

	cp "$work"/old/*.deb "$root/tmp/old.deb"
	cp "$work"/new/*.deb "$root/tmp/new.deb"
	check 'Debian: install the version before' chroot "$root" dpkg -i /tmp/old.deb
	check 'Debian: a first day: sizes, compact, recall, verify' job "$root"
	check 'Debian: upgrade' chroot "$root" dpkg -i /tmp/new.deb
	check 'Debian: the new version finds what the old one kept' upgraded "$root"
	check 'Debian: every file is as it was packed' chroot "$root" dpkg --verify sessctl
	check 'Debian: man sessctl-compact, man 7 sessctl-files' man_pages "$root"
	check 'Debian: bash completes' bash_tab "$root"
	check 'Debian: zsh completes' zsh_tab "$root"
	check 'Debian: fish completes' fish_tab "$root"
	if command -v pwsh > /dev/null; then
		check 'the completion of PowerShell parses' powershell_parses
	else
		skipped 'the completion of PowerShell: there is no pwsh here'
	fi
	check 'Debian: the units are there, and off' off "$root"
	check 'Debian: remove' chroot "$root" dpkg --remove sessctl
	check 'Debian: purge' chroot "$root" dpkg --purge sessctl
	rm -f "$root"/tmp/old.deb "$root"/tmp/new.deb "$root"/tmp/type.zsh
	listing "$root" > "$work/after"
	check 'Debian: nothing is left but what is the user'"'"'s' diff "$work/before" "$work/after"
	check 'Debian: what the user has is still there' ls "$root/home/lea/.local/share/sessctl/memory/memory.db" "$root/home/lea/.openclaw/session_archive/coordinator"
}

if ! command -v debootstrap > /dev/null || ! command -v dpkg > /dev/null; then
	skipped 'Debian: there is no debootstrap here'
else
	debian
fi
