package weaviate

import (
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

// schemePrefix begins the schemes of addresses: weaviate+https, weaviate+http.
const schemePrefix = "weaviate+"

// defaultReplicas is how many nodes keep each record: one may fail, and the
// other two are still a majority.
const defaultReplicas = 3

// defaultName begins the names of the collections.
const defaultName = "Sessctl"

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
	if scheme != "https" && scheme != "http" {
		return a, wrongAddress("the address begins with weaviate+https:// or weaviate+http://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	nodes, name, _ := strings.Cut(rest, "/")
	if strings.Contains(rest, "@") {
		return a, wrongAddress("the address has a user; the key comes from memory.remote.api_key_file or memory.remote.api_key_env")
	}
	for node := range strings.SplitSeq(nodes, ",") {
		host, err := nodeAddress(scheme, node)
		if err != nil {
			return a, err
		}
		a.nodes = append(a.nodes, scheme+"://"+host)
	}
	if name = strings.Trim(name, "/"); name != "" {
		if !nameForm().MatchString(name) {
			return a, wrongAddress("the name behind the nodes has letters and digits only, and begins with a letter")
		}
		a.name = strings.ToUpper(name[:1]) + name[1:]
	}
	return a, a.readOptions(query)
}

func wrongAddress(why string) error { return fmt.Errorf("%w: %s", remote.ErrUnsuitable, why) }

// nodeAddress adds the port that a scheme usually has with Weaviate.
func nodeAddress(scheme, node string) (string, error) {
	u, err := url.Parse(scheme + "://" + node)
	if err != nil || u.Hostname() == "" || u.Path != "" || u.Fragment != "" {
		return "", wrongAddress("a node of the address is not HOST or HOST:PORT")
	}
	if u.Port() != "" {
		return u.Host, nil
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"https": "443", "http": "8080"}[scheme]), nil
}

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
				return err
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
	if err == nil {
		a.trusted = x509.NewCertPool()
		if !a.trusted.AppendCertsFromPEM(pem) {
			err = errors.New("it has no certificate in PEM")
		}
	}
	if err != nil {
		return fmt.Errorf("%w: ca: %w", remote.ErrUnsuitable, err)
	}
	return nil
}

// String is the address without options.
func (a address) String() string {
	hosts := make([]string, len(a.nodes))
	for i, node := range a.nodes {
		_, hosts[i], _ = strings.Cut(node, "://")
	}
	return strings.Join(hosts, ",") + "/" + a.name
}
