package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// JoinDocument is `fleet join --json` (docs/json.md).
type JoinDocument struct {
	Schema   int    `json:"schema"`
	Server   string `json:"server"`   // host, port and database
	Host     string `json:"host"`     // the name of this host there
	File     string `json:"file"`     // where that is written down
	Schedule string `json:"schedule"` // what pushes, "" if nothing does
	// Pushed says that the push which ends a join was done; ThereNow is what the server
	// has of this host.
	Pushed   bool             `json:"pushed"`
	ThereNow int              `json:"there_now"`
	Notes    []workspace.Note `json:"notes"`
}

// Join makes this host the one of an invitation. The password of the line ends: the host
// makes its own, and writes it down, beside the file of the fleet, before the server knows
// it: a host whose join was cut off is in no fleet, and repeats it. From then on the run
// has the configuration of the fleet.
func Join(ctx context.Context, run *workspace.Run, i Invitation) (doc JoinDocument, err error) {
	c := &run.Config.Memory.Remote
	doc = JoinDocument{Schema: 1, Host: i.Host, File: workspace.FleetFile(&run.Settings)}
	if !filepath.IsAbs(doc.File) {
		return doc, failure.Usage("set HOME or XDG_CONFIG_HOME", "there is no home directory, so there is no place for the address of the fleet")
	}
	if set := workspace.SetByHand(&run.Settings, "memory.remote.url", "memory.remote.host"); set != "" {
		return doc, failure.Usage("remove it there: joining sets it", "%s is set already", set)
	}
	lock, err := run.Lock(ctx) // it makes the data directory, without which no schedule begins
	if err != nil {
		return doc, err
	}
	defer lock.Unlock()
	dir, joining := filepath.Dir(doc.File), doc.File+".joining"
	if err := errors.Join(durable.MakeDir(dir, 0o700), durable.Sweep(dir, 0)); err != nil {
		return doc, err
	}
	authority, err := keepAuthority(dir, i.Authority)
	if err != nil {
		return doc, err
	}
	m, way, err := firstOf(ctx, c.Timeout, i.way(i.Password, authority), addressIn(joining), addressIn(doc.File))
	if err != nil {
		return doc, explainJoin(err)
	}
	defer m.Close()
	doc.Server, c.Host = m.Address(), i.Host
	if way == i.way(i.Password, authority) {
		if way, err = ownPassword(ctx, m, i, authority, joining); err != nil {
			return doc, err
		}
	}
	c.URL = way
	if err := keep(doc.File, way, i.Host); err != nil {
		return doc, err
	}
	return doc, durable.RemoveFile(joining)
}

// ownPassword ends the password of the line.
func ownPassword(ctx context.Context, m *postgres.Memory, i Invitation, authority, joining string) (way string, err error) {
	password := rand.Text()
	way = i.way(password, authority)
	if err := keep(joining, way, i.Host); err != nil {
		return "", err
	}
	return way, workspace.ExplainShared(postgres.ChangePassword(ctx, m, password))
}

// firstOf connects by a line or, if its password has ended, by what this very host has made
// of it: in a join that was cut off, or in one that was done.
func firstOf(ctx context.Context, timeout time.Duration, line string, made ...string) (m *postgres.Memory, way string, err error) {
	m, err = postgres.Open(ctx, postgres.Options{URL: line, Timeout: timeout})
	if !postgres.IsWrongPassword(err) {
		return m, line, err
	}
	for _, way := range made {
		if !isSameRole(line, way) {
			continue
		}
		if m, again := postgres.Open(ctx, postgres.Options{URL: way, Timeout: timeout}); !postgres.IsWrongPassword(again) {
			return m, way, again
		}
	}
	return nil, "", err
}

// isSameRole reports whether two ways lead to the same role of the same server.
func isSameRole(one, other string) bool {
	a, errA := url.Parse(one)
	b, errB := url.Parse(other)
	return errA == nil && errB == nil && a.User != nil && b.User != nil && a.User.Username() == b.User.Username() && a.Host == b.Host && a.Path == b.Path
}

// addressIn is the address in a file of keep, "" if there is none.
func addressIn(file string) string {
	var kept struct {
		Memory struct{ Remote struct{ URL string } }
	}
	if node := workspace.YamlOf(file); node == nil || node.Decode(&kept) != nil {
		return ""
	}
	return kept.Memory.Remote.URL
}

func explainJoin(err error) error {
	if postgres.IsWrongPassword(err) {
		return &failure.Error{Code: "not_allowed", Exit: failure.ExitFailed, Hint: "a line works once; the owner makes another: sessctl fleet init HOST --again", Err: err}
	}
	return workspace.ExplainShared(err)
}

// keepAuthority writes down by what the server is checked. Its name says what is in it:
// what an earlier join has written stays.
func keepAuthority(dir, text string) (path string, err error) {
	if text == "" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(text))
	path = filepath.Join(dir, "fleet-"+hex.EncodeToString(sum[:4])+".crt")
	return path, write(path, 0o600, text)
}

// keep writes the configuration of the fleet, which has the password.
func keep(path, url, host string) error {
	return write(path, 0o600, fmt.Sprintf("# Written by sessctl fleet join. Without this file the host is in no fleet.\nmemory:\n  remote:\n    url: %q\n    host: %q\n", url, host))
}

func write(path string, perm os.FileMode, text string) error {
	return durable.ReplaceFile(path, perm, func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	})
}
