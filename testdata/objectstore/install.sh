#!/bin/sh
# Builds the S3 server that tests use (versitygw, Apache-2.0) from the Go module
# proxy into the cache directory. It takes about 90 seconds of CPU.
set -eu
to=${XDG_CACHE_HOME:-$HOME/.cache}/sessctl-accept/versitygw
[ -x "$to/versitygw" ] && exit 0
mkdir -p "$to"
cd "$to"
CGO_ENABLED=0 GOFLAGS=-mod=mod GOBIN="$to" go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
