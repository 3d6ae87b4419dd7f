#!/bin/sh
# install.sh DIR: PostgreSQL 18 with pgvector and pg_textsearch, from Debian's
# packages, into a directory of its own. Nothing of the system is changed, and no other user is
# needed: the packages are unpacked, and the programs run with the libraries
# that came with them. It needs apt-get, dpkg-deb and Debian's archive keyring.
#
# The tests find the server in $SESSCTL_TEST_POSTGRES, else in
# ~/.cache/sessctl-test/postgresql, or that of root in /var/cache (docs/dev/testing.md).
set -eu
if [ "$(id -u)" = 0 ]; then place=/var/cache; else place=${XDG_CACHE_HOME:-$HOME/.cache}; fi
dir=${1:-$place/sessctl-test/postgresql}
[ ! -e "$dir/bin/../lib/pg_textsearch.so" ] || [ ! -x "$dir/bin/pg_dump" ] || { echo "$dir"; exit 0; }
[ ! -L "$dir/bin" ] || rm -rf "$dir/bin" "$dir/root" # one of before, without pg_textsearch or pg_dump
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
work=$dir/download
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts" "$work/debs"
: > "$work/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian sid main" > "$work/sources.list"
apt() {
	apt-get -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts="$work/parts" \
		-o Dir::State="$work" -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" \
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"
}
apt update >&2
cd "$work/debs"
# What the server's programs load: no maintainer script is run.
apt download postgresql-18 postgresql-client-18 postgresql-18-pgvector postgresql-18-pg-textsearch libc6 libgcc-s1 libstdc++6 libicu78 libxml2-16 \
	libssl3t64 libldap2 libsasl2-2 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libkeyutils1 \
	libcom-err2 libpam0g libaudit1 libcap-ng0 libselinux1 libpcre2-8-0 libsystemd0 liblz4-1 libzstd1 \
	libnuma1 liburing2 zlib1g libcrypt1 libpq5 >&2
for deb in *.deb; do dpkg-deb -x "$deb" "$dir/root"; done
cd "$dir"
# A program of another C library is started by that library's own loader.
server=root/usr/lib/postgresql/18/bin
loader=$(find root -name 'ld-linux-*.so.*' -type f | head -1)
libraries=$(find root -name 'lib*.so.*' ! -path '*/postgresql/*' -exec dirname {} + | sort -u | grep -v gconv | sed "s,^,$dir/," | tr '\n' ':')
for program in postgres initdb pg_dump pg_restore; do
	mv "$server/$program" "$server/$program.bin"
	printf '#!/bin/sh\nexec "%s" --library-path "%s" --argv0 "%s" "%s" "$@"\n' \
		"$dir/$loader" "${libraries%:}" "$dir/$server/$program" "$dir/$server/$program.bin" > "$server/$program"
	chmod 755 "$server/$program"
done
rm -rf "$work"
chmod -R go+rX "$dir"
"$server/postgres" --version >&2
ln -s "$server" "$dir/bin.new"
mv "$dir/bin.new" "$dir/bin"
echo "$dir"
