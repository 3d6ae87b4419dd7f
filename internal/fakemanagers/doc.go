// Package fakemanagers is what starts jobs, for tests: systemctl, launchctl,
// crontab and pgrep that change nothing but files of a directory and, as the real ones do,
// the links by which a timer is enabled and the stamp of when it ran.
package fakemanagers
