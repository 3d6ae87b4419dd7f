package fleet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
)

// Invitation is what one host needs to become one of a fleet. It is a secret until the
// host has joined, which ends its password.
type Invitation struct {
	URL       string `json:"url"`  // of the server, with a role and without a password
	Host      string `json:"host"` // the name of the host in the fleet
	Password  string `json:"password"`
	Authority string `json:"authority,omitempty"` // PEM of what the server's certificate is checked by, "" for what the system trusts
}

// linePrefix tells a line from other text, and which version it is.
const linePrefix = "sessctl-fleet-1:"

// Line is the invitation as one word.
func (i Invitation) Line() string {
	text, _ := json.Marshal(i) // four texts
	return linePrefix + base64.RawURLEncoding.EncodeToString(text)
}

// longestLine bounds, in bytes, a line that is read from stdin.
const longestLine = 64 << 10

// ReadLine reads a line that is typed, or with - from stdin.
func ReadLine(line string, in io.Reader) (Invitation, error) {
	if line != "-" {
		return ParseLine(line)
	}
	text, err := io.ReadAll(io.LimitReader(in, longestLine))
	if err != nil {
		return Invitation{}, fmt.Errorf("read the line: %w", err)
	}
	return ParseLine(string(text))
}

// ParseLine reads a line, or the command that has it. White space in it is passed over:
// terminals and mails break long words. No error repeats it.
func ParseLine(line string) (i Invitation, err error) {
	_, coded, known := strings.Cut(strings.Join(strings.Fields(line), ""), linePrefix)
	text, err := base64.RawURLEncoding.DecodeString(coded)
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		err = dec.Decode(&i)
	}
	u, wrong := url.Parse(i.URL)
	if !known || err != nil || wrong != nil || u.Scheme != "postgres" || u.User == nil || i.Password == "" || !recall.IsHostName(i.Host) {
		return Invitation{}, &failure.Error{Code: "usage", Exit: failure.ExitUsage, Hint: "give all of the line that sessctl fleet init printed for this host; it begins with " + linePrefix,
			Err: errors.New("this is no line of sessctl fleet init, or not all of it")}
	}
	return i, nil
}

// way is the address with a password, and with the file of the authority if there is one.
func (i Invitation) way(password, authority string) string {
	u, err := url.Parse(i.URL)
	if err != nil {
		return i.URL
	}
	u.User = url.UserPassword(u.User.Username(), password)
	if authority != "" {
		q := u.Query()
		q.Set("sslrootcert", authority)
		u.RawQuery = q.Encode()
	}
	return u.String()
}
