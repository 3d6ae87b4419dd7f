package directory

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	rotatedMark = ".rotated."
	rotatedForm = "2006-01-02T15-04-05.000Z"
)

var rotatedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)\.rotated\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$`)
})

// Rotated is the name, or the path, that a log gets when it is moved aside at
// a time. No runtime of those that use it takes such a file for a session.
func Rotated(log string, at time.Time) string {
	return log + rotatedMark + at.UTC().Format(rotatedForm)
}

// OriginalName returns the name that a log had before it was moved aside, and
// whether it was: any other name is returned as it is.
func OriginalName(name string) (log string, rotated bool) {
	if !strings.Contains(name, rotatedMark) { // the usual case, without an expression
		return name, false
	}
	if m := rotatedName().FindStringSubmatch(name); m != nil {
		return m[1], true
	}
	return name, false
}

// FreeRotated returns the path that a log of the directory gets when it is
// moved aside at a time, or, where that is taken, some milliseconds later.
func (d *Directory) FreeRotated(log string, at time.Time) (string, error) {
	at = at.UTC().Truncate(time.Millisecond)
	name, err := d.FreeName(func(try int) string { return Rotated(log, at.Add(time.Duration(try)*time.Millisecond)) })
	return filepath.Join(d.Path, name), err
}
