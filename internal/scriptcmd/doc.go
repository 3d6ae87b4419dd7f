// Package scriptcmd has the commands that the scripts in testdata/script use
// beside those of testscript itself.
package scriptcmd
