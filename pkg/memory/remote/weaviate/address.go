package weaviate

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

const (
	schemePrefix    = "weaviate+" // begins the schemes of addresses: weaviate+https, weaviate+http
	defaultReplicas = 3           // nodes that keep each record: one may fail, and the other two are still a majority
	defaultName     = "Sessctl"   // begins the names of the collections
)

// IsAddress reports whether a URL is meant for this package. [Open] says what
// is wrong with it.
func IsAddress(raw string) bool { return strings.HasPrefix(raw, "weaviate") }

// address says where a shared memory is.
type address struct {
	nodes    []string // scheme://host:port
	name     string   // that its collections begin with
	replicas int
	trusted  *x509.CertPool // nil: those of the system
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][0-9A-Za-z]{0,63}$`) })

// parseAddress reads weaviate+https://NODE[:PORT][,NODE...][/NAME][?replicas=N&ca=FILE].
// Errors do not repeat it: somebody may have put a key into it.
func parseAddress(raw string) (a address, err error) {
	a = address{name: defaultName, replicas: defaultReplicas}
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(raw, schemePrefix), "://")
	port, known := map[string]string{"https": "443", "http": "8080"}[scheme]
	rest, query, _ := strings.Cut(rest, "?")
	nodes, name, _ := strings.Cut(rest, "/")
	switch name = strings.Trim(name, "/"); {
	case !known:
		return a, wrongAddress("the address begins with weaviate+https:// or weaviate+http://")
	case strings.Contains(rest, "@"):
		return a, wrongAddress("the address has a user; the key comes from memory.remote.api_key_file or memory.remote.api_key_env")
	case name != "" && !nameForm().MatchString(name):
		return a, wrongAddress("the name behind the nodes has letters and digits only, and begins with a letter")
	case name != "":
		a.name = strings.ToUpper(name[:1]) + name[1:]
	}
	for node := range strings.SplitSeq(nodes, ",") {
		u, err := url.Parse(scheme + "://" + node)
		if err != nil || u.Hostname() == "" || u.Path != "" || u.Fragment != "" {
			return a, wrongAddress("a node of the address is not HOST or HOST:PORT")
		}
		a.nodes = append(a.nodes, scheme+"://"+net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	}
	return a, a.readOptions(query)
}

func wrongAddress(why string) error { return fmt.Errorf("%w: %s", remote.ErrUnsuitable, why) }

func (a *address) readOptions(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return wrongAddress("what follows the ? of the address cannot be read")
	}
	for key, list := range values {
		switch value := list[len(list)-1]; key {
		case "replicas":
			if a.replicas, err = strconv.Atoi(value); err != nil || a.replicas < 1 {
				return wrongAddress("replicas is a number of nodes, at least 1")
			}
		case "ca":
			if err := a.trust(value); err != nil {
				return fmt.Errorf("%w: ca: %w", remote.ErrUnsuitable, err)
			}
		default:
			return wrongAddress("the address has an option other than replicas and ca")
		}
	}
	return nil
}

// trust takes the certificates of a file for those that a node may have.
func (a *address) trust(path string) error {
	pem, err := os.ReadFile(path)
	if a.trusted = x509.NewCertPool(); err == nil && !a.trusted.AppendCertsFromPEM(pem) {
		return errors.New("it has no certificate in PEM")
	}
	return err
}

// String is the address without options.
func (a address) String() string {
	hosts := make([]string, len(a.nodes))
	for i, node := range a.nodes {
		_, hosts[i], _ = strings.Cut(node, "://")
	}
	return strings.Join(hosts, ",") + "/" + a.name
}
