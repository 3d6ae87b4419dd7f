#!/bin/sh
# Runs every fuzz test of the module for the given time: go test takes one
# fuzz test of one package at a time. Making an input smaller that leads somewhere
# new would else take most of the time.
set -eu
cd "$(dirname "$0")/.."
time=${1:-30s}
go=${GO:-go}
for package in $($go list ./...); do
	for name in $($go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "== $package $name for $time"
		CGO_ENABLED=0 $go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 2s "$package"
	done
done
