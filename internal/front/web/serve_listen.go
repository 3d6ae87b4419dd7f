package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
)

// Address is where the server listens.
type Address struct {
	Socket   string // the path of a unix socket, or ""
	hostPort string
	host     string
}

// ParseAddress reads what --listen takes.
func ParseAddress(listen string) (Address, error) {
	const hint = "write --listen 127.0.0.1:7433, or --listen unix:/run/sessctl.sock"
	if path, isSocket := strings.CutPrefix(listen, "unix:"); isSocket {
		if path == "" {
			return Address{}, failure.Usage(hint, "--listen: the path of the socket is missing")
		}
		return Address{Socket: workspace.Absolute(path)}, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return Address{}, failure.Usage(hint, "--listen: %q is not an address", listen)
	}
	return Address{hostPort: listen, host: host}, nil
}

// Local says whether only programs on this machine can reach the address.
func (d Address) Local() bool {
	ip, err := netip.ParseAddr(d.host)
	return d.Socket != "" || d.host == "localhost" || err == nil && ip.IsLoopback()
}

// Hosts are the names under which the server may be asked, nil for any. A name
// that is not one of these, but leads here, is somebody's who lets a browser on
// this machine ask for a page of his (DNS rebinding).
func (d Address) Hosts(allowed []string) []string {
	if d.Socket != "" {
		return nil
	}
	names := []string{"localhost"}
	for _, name := range append([]string{d.host}, allowed...) {
		if name != "" {
			names = append(names, HostName(name))
		}
	}
	return names
}

// listenHint says what to do about an address that cannot be listened on.
func listenHint(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "ports below 1024 may need more rights; choose another one with --listen"
	}
	return "another program may use the port; choose one with --listen"
}

// Listen opens the address.
func (d Address) Listen(ctx context.Context) (net.Listener, error) {
	if d.Socket == "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", d.hostPort)
		if err != nil {
			return nil, &failure.Error{Code: "listen", Exit: failure.ExitFailed, Hint: listenHint(err), Err: fmt.Errorf("listen on %s: %w", d.hostPort, err)}
		}
		return l, nil
	}
	l, err := durable.ListenSocket(ctx, d.Socket)
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, &failure.Error{Code: "listen", Exit: failure.ExitBusy, Path: d.Socket, Hint: "stop the other one, or choose another path with --listen", Err: fmt.Errorf("another server listens: %w", err)}
	case errors.Is(err, durable.ErrExists):
		return nil, &failure.Error{Code: "listen", Exit: failure.ExitFailed, Path: d.Socket, Hint: "choose another path with --listen", Err: err}
	case err != nil:
		return nil, fmt.Errorf("listen: %w", err)
	}
	return l, nil
}

// URL is what a client writes to ask the server, with the port that it got.
func (d Address) URL(l net.Listener, tls bool) string {
	switch {
	case d.Socket != "":
		return "unix:" + d.Socket
	case tls:
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Certificate makes the TLS configuration of two files, nil without them. The
// files are read for each connection: a certificate that was renewed is used
// without a restart.
func Certificate(certFile, keyFile string) (*tls.Config, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	if certFile == "" || keyFile == "" {
		return nil, failure.Usage("name both files", "--tls-cert goes with --tls-key")
	}
	load := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(certFile, keyFile)
		return &c, err
	}
	if _, err := load(); err != nil {
		return nil, failure.Usage("two files in PEM form: the certificate with its chain, and its key", "--tls-cert, --tls-key: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load() }}, nil
}

// TokenFile is where the token of the server is kept.
func TokenFile(a *workspace.Settings) string { return filepath.Join(a.DataDir(), "serve-token") }

// leastToken is how many characters a token has at least.
const leastToken = 32

// ServeToken reads the token, and makes one where there is none. One that others
// may read, or that is so short that it can be guessed, is refused.
func ServeToken(a *workspace.Run) (*[sha256.Size]byte, error) {
	path := TokenFile(&a.Settings)
	err := durable.CreateFile(path, 0o600, func(w io.Writer) error {
		var secret [32]byte
		rand.Read(secret[:]) // never fails, by its documentation
		_, err := io.WriteString(w, hex.EncodeToString(secret[:])+"\n")
		return err
	})
	if err != nil && !errors.Is(err, durable.ErrExists) {
		return nil, fmt.Errorf("make the token: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	if err := checkTokenFile(path, info); err != nil {
		return nil, err
	}
	text, err := durable.ReadSmall(path, 4<<10)
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < leastToken {
		return nil, tokenFailure(path, "remove the file: the next start makes a new one", "the token in %s has fewer than %d characters", path, leastToken)
	}
	sum := sha256.Sum256([]byte(token))
	return &sum, nil
}

func checkTokenFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return tokenFailure(path, "remove it: the next start makes a new one", "%s is not a regular file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return tokenFailure(path, "remove the file, the next start makes a new token; or chmod 600 "+path+" if nobody has read it", "others may read the token in %s", path)
	}
	if uid, known := durable.Owner(info); known && uid != os.Geteuid() {
		return tokenFailure(path, "remove the file: the next start makes a new one", "the token in %s belongs to user %d", path, uid)
	}
	return nil
}

func tokenFailure(path, hint, format string, args ...any) error {
	return &failure.Error{Code: "permission", Exit: failure.ExitFailed, Path: path, Hint: hint, Err: fmt.Errorf(format, args...)}
}
