// Package operate is what makes sessctl run by itself: profiles, which name the
// steps of an unattended run, and the records of such runs. It knows no session,
// no archive and no memory: package cmd carries the steps out.
package operate
