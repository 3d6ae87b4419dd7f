package objects

import (
	"fmt"
	"path"
	"strings"

	"github.com/sessctl/sessctl/pkg/archive"
)

// place is where copies are: a bucket, and what their names begin with there.
type place struct{ name, prefix string }

// URL is the address of the place.
func (p place) URL() string { return "s3://" + path.Join(p.name, p.prefix) }

func (p place) key(name string) string { return path.Join(p.prefix, name) }

// keyOf is the key of a recorded copy in this bucket.
func (p place) keyOf(r *archive.Remote) (string, error) {
	if r == nil {
		return "", ErrMissing
	}
	key, here := strings.CutPrefix(r.URL, "s3://"+p.name+"/")
	if !here {
		return "", fmt.Errorf("%s is not in the bucket %s: %w", r.URL, p.name, ErrMissing)
	}
	return key, nil
}

func (p place) urlOf(key string) string { return "s3://" + p.name + "/" + key }

// NumberOf is the number of the object of an archive that has an address, 0 for none.
func (p place) NumberOf(e archive.Entry, url string) int {
	for number := mostCopies; number > 0; number-- {
		if key := p.key(e.ObjectName(number)); url == p.urlOf(key) || url == p.urlOf(key+sealedEnd) {
			return number
		}
	}
	return 0
}
