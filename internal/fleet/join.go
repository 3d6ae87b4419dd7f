package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"

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
// makes its own, and writes it down before the server knows it, so that a join that was cut
// off can be repeated. From then on the run has the configuration of the fleet.
func Join(ctx context.Context, run *workspace.Run, i Invitation) (doc JoinDocument, err error) {
	c := &run.Config.Memory.Remote
	doc = JoinDocument{Schema: 1, Host: i.Host, File: workspace.FleetFile(&run.Settings)}
	if !filepath.IsAbs(doc.File) {
		return doc, failure.Usage("set HOME or XDG_CONFIG_HOME", "there is no home directory, so there is no place for the address of the fleet")
	}
	if set := workspace.SetByHand(&run.Settings, "memory.remote.url", "memory.remote.host"); set != "" {
		return doc, failure.Usage("remove it there: joining sets it", "%s is set already", set)
	}
	before := c.URL // of an earlier join
	authority, err := keepAuthority(filepath.Dir(doc.File), i.Authority)
	if err != nil {
		return doc, err
	}
	c.URL, c.Host = i.way(i.Password, authority), i.Host
	own := rand.Text()
	m, err := postgres.Open(ctx, postgres.Options{URL: c.URL, Timeout: c.Timeout})
	if postgres.IsWrongPassword(err) && before != "" {
		return doc, joinedBefore(ctx, run, before, &doc)
	}
	if err != nil {
		return doc, explainJoin(err)
	}
	defer m.Close()
	doc.Server, c.URL = m.Address(), i.way(own, authority)
	if err := keep(doc.File, c.URL, i.Host); err != nil {
		return doc, err
	}
	if err := postgres.ChangePassword(ctx, m, own); err != nil {
		return doc, workspace.ExplainShared(err)
	}
	return doc, durable.MakeDir(run.DataDir(), 0o700) // no schedule begins without it
}

// joinedBefore sees whether the line was used by this very host.
func joinedBefore(ctx context.Context, run *workspace.Run, way string, doc *JoinDocument) error {
	c := &run.Config.Memory.Remote
	c.URL = way
	m, err := postgres.Open(ctx, postgres.Options{URL: way, Timeout: c.Timeout})
	if err != nil {
		return explainJoin(err)
	}
	doc.Server = m.Address()
	return m.Close()
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
	return path, errors.Join(durable.MakeDir(dir, 0o700), write(path, text))
}

// keep writes the configuration of the fleet, which has the password.
func keep(path, url, host string) error {
	return errors.Join(durable.MakeDir(filepath.Dir(path), 0o700), write(path, fmt.Sprintf("# Written by sessctl fleet join. Without this file the host is in no fleet.\nmemory:\n  remote:\n    url: %q\n    host: %q\n", url, host)))
}

func write(path, text string) error {
	return durable.ReplaceFile(path, 0o600, func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	})
}
