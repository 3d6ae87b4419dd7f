package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// openTo lets hosts reach the server under a name, if that may be changed, and returns by
// what they check its certificate, and how.
func openTo(ctx context.Context, run *workspace.Run, own *postgres.Owner, name string, change bool) (authority, mode string, err error) {
	r, err := own.Reach(ctx)
	switch {
	case errors.Is(err, remote.ErrNotAllowed):
		return known(own)
	case err != nil:
		return "", "", err
	case change:
		if err := open(ctx, run, own, &r, name); err != nil {
			return "", "", err
		}
	}
	return checkedBy(r.Certificates, name)
}

// known is what the owner's own connection was checked by.
func known(own *postgres.Owner) (authority, mode string, err error) {
	root := own.Authority()
	if root == nil {
		return "", "", &failure.Error{Code: "no_certificate", Exit: failure.ExitFailed, Hint: "connect with sslmode=verify-full and, for a certificate of your own, sslrootcert=FILE: hosts then check it by the same",
			Err: errors.New("this connection does not check the certificate of the server, so hosts could not either")}
	}
	if _, err := root.Verify(x509.VerifyOptions{}); err == nil {
		return "", "verify-full", nil
	}
	return encoded("CERTIFICATE", root.Raw), "verify-full", nil
}

// checkedBy says by what the certificates of a server are checked: by what every system
// trusts, or by the last of them. One that vouches for itself may have any name: nobody
// else has its key.
func checkedBy(certificates, name string) (authority, mode string, err error) {
	var chain []*x509.Certificate
	between := x509.NewCertPool()
	for rest := []byte(certificates); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			chain = append(chain, c)
			between.AddCert(c)
		}
	}
	if len(chain) == 0 {
		return "", "", &failure.Error{Code: "no_certificate", Exit: failure.ExitFailed, Hint: "sessctl fleet init --server NAME, on the server as a superuser, makes one", Err: errors.New("the server has no certificate (ssl = off)")}
	}
	leaf, last := chain[0], chain[len(chain)-1]
	named := leaf.VerifyHostname(name)
	_, public := leaf.Verify(x509.VerifyOptions{DNSName: name, Intermediates: between})
	switch {
	case public == nil:
		return "", "verify-full", nil
	case named == nil:
		return encoded("CERTIFICATE", last.Raw), "verify-full", nil
	case len(chain) == 1 && slices.Equal(leaf.RawIssuer, leaf.RawSubject):
		return encoded("CERTIFICATE", leaf.Raw), "verify-ca", nil
	}
	return "", "", &failure.Error{Code: "no_certificate", Exit: failure.ExitFailed, Hint: "give the name that it has: --server " + strings.Join(leaf.DNSNames, " or "), Err: named}
}

// open changes what keeps hosts from reaching the server: no TLS, no rule for them, no
// address but the machine's own.
func open(ctx context.Context, run *workspace.Run, own *postgres.Owner, r *postgres.Reach, name string) error {
	var settings []string
	if !r.TLS {
		certificate, file, err := makeCertificate(run, r.Directory, name)
		if err != nil {
			return onServer(err)
		}
		r.Certificates = certificate
		settings = append(settings, "ssl", "on", "ssl_cert_file", file+".crt", "ssl_key_file", file+".key")
	}
	if !r.Allowed {
		_, _, database := own.Place()
		rule := fmt.Sprintf("hostssl %q +sessctl_host all scram-sha-256", database)
		if err := addRule(r.Rules, rule); err != nil {
			return onServer(err)
		}
		run.Notice(workspace.Note{Path: r.Rules, Message: "added: " + rule})
	}
	listens := r.Listens != "" && r.Listens != "localhost"
	if !listens {
		settings = append(settings, "listen_addresses", "*")
	}
	if len(settings) == 0 && r.Allowed {
		return nil
	}
	if err := own.Set(ctx, settings...); err != nil {
		return err
	}
	if !listens {
		run.Tell(workspace.Note{Message: "PostgreSQL listens to other machines from its next start on", Hint: "sudo systemctl restart postgresql"})
	}
	return nil
}

// addRule adds a line to a file of rules, all of it or nothing: with half a line the
// server does not start again.
func addRule(path, rule string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return write(path, info.Mode().Perm(), strings.TrimRight(string(text), "\n")+"\n"+rule+"\n")
}

func onServer(err error) error {
	return &failure.Error{Code: "not_on_server", Exit: failure.ExitFailed, Hint: "on " + hostname() + " as the account of the server: sudo -u postgres sessctl fleet init --server NAME; or change its files yourself: docs/fleet.md", Err: err}
}

// certified is how long a certificate that is made here holds.
const certified = 10 * 365 * 24 * time.Hour

// makeCertificate makes a certificate for a name, and puts it with its key into the
// directory of the server, under names that no file has.
func makeCertificate(run *workspace.Run, directory, name string) (certificate, file string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	var number [8]byte
	_, _ = rand.Read(number[:]) // never fails
	c := x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(number[:]), Subject: pkix.Name{CommonName: name}, NotBefore: run.Now().Add(-time.Hour), NotAfter: run.Now().Add(certified),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	if ip := net.ParseIP(name); ip != nil {
		c.IPAddresses = []net.IP{ip}
	} else {
		c.DNSNames = []string{name}
	}
	made, err := x509.CreateCertificate(rand.Reader, &c, &c, &key.PublicKey, key)
	if err != nil {
		return "", "", fmt.Errorf("make a certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	certificate, file = encoded("CERTIFICATE", made), "sessctl-"+hex.EncodeToString(number[:])
	return certificate, file, errors.Join(putBeside(directory, file+".key", encoded("PRIVATE KEY", secret)), putBeside(directory, file+".crt", certificate))
}

// putBeside writes a file into the directory of the server, that the server may read and
// nobody else.
func putBeside(directory, name, text string) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	like, err := root.Stat("PG_VERSION")
	if err != nil {
		return fmt.Errorf("look at %s: %w", filepath.Join(directory, "PG_VERSION"), err)
	}
	return durable.CreateCheckedIn(root, name, like, func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}, nil)
}

func encoded(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
