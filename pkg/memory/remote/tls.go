package remote

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// IsTLS reports whether a connection failed because of a certificate: another try
// will not help.
func IsTLS(err error) bool {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	return errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &invalid) || errors.As(err, &verification)
}
