package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// How long a host may be silent: a laptop has weekends, and archives are read in full once
// a week.
const (
	silent   = 3 * 24 * time.Hour
	unread   = 10 * 24 * time.Hour
	notKnown = "unknown"
)

// HostRow is a host of the fleet. Times are RFC 3339, "" if that is not known.
type HostRow struct {
	Host     string   `json:"host"`
	Records  int      `json:"records"`
	Pushed   string   `json:"pushed"`   // the end of its last push
	Uploaded string   `json:"uploaded"` // when a run last had all its archives off-site
	Verified string   `json:"verified"` // when a run last read its archives in full, and all were whole
	Archives string   `json:"archives"` // where they are off-site, "" if nowhere
	Wrong    []string `json:"wrong"`

	at remote.Health
}

// HostsDocument is `fleet hosts --json` (docs/json.md).
type HostsDocument struct {
	Schema int              `json:"schema"`
	Server string           `json:"server"`
	Hosts  []HostRow        `json:"hosts"`
	Notes  []workspace.Note `json:"notes"`
}

// Hosts asks the shared memory for its hosts. A host that was removed is none.
func Hosts(ctx context.Context, run *workspace.Run) (HostsDocument, error) {
	doc := HostsDocument{Schema: 1, Hosts: []HostRow{}}
	ctx, cancel := context.WithTimeout(ctx, run.Config.Memory.Remote.Timeout)
	defer cancel()
	shared, err := workspace.OpenShared(ctx, &run.Settings, false)
	if err != nil {
		return doc, err
	}
	defer shared.Close()
	counts, err := shared.Count(ctx)
	doc.Server = shared.Address()
	for _, h := range counts.Hosts {
		if h.Records > 0 || h.LastPush > 0 || h.Seen > 0 {
			doc.Hosts = append(doc.Hosts, rowOf(h, run.Now()))
		}
	}
	return doc, workspace.ExplainShared(err)
}

func rowOf(h remote.HostCount, now time.Time) HostRow {
	h.Seen = max(h.Seen, h.LastPush)
	row := HostRow{Host: h.Host, Records: h.Records, Pushed: stamp(h.Seen), Uploaded: stamp(h.Uploaded), Verified: stamp(h.Verified), Archives: h.Archives, Wrong: []string{}, at: h.Health}
	late := func(what string, at int64, most time.Duration) {
		if age := now.Sub(time.UnixMilli(at)); at > 0 && age > most {
			row.Wrong = append(row.Wrong, fmt.Sprintf("its last %s was %d days ago", what, int(age.Hours())/24))
		}
	}
	late("push", h.Seen, silent)
	late("upload of its archives", h.Uploaded, silent)
	late("full reading of its archives", h.Verified, unread)
	if h.Verified == remote.Damaged {
		row.Wrong = append(row.Wrong, "its archives are damaged")
	}
	if h.Archives != "" && h.Uploaded == 0 {
		row.Wrong = append(row.Wrong, "no run of it has uploaded its archives yet")
	}
	return row
}

func stamp(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return wording.StampText(time.UnixMilli(ms))
}

// Cells are a row of the list.
func (r HostRow) Cells() []string {
	shown := func(ms int64) string {
		switch ms {
		case 0:
			return notKnown
		case remote.Damaged:
			return "damaged"
		}
		return time.UnixMilli(ms).Format("2006-01-02 15:04")
	}
	wrong := ""
	for i, text := range r.Wrong {
		wrong += "; "[:min(2*i, 2)] + text
	}
	return []string{wording.Visible(r.Host), wording.Count(int64(r.Records)), shown(r.at.Seen), shown(r.at.Uploaded), shown(r.at.Verified), wrong}
}

// Warn adds to a status what is wrong with the hosts of the fleet. That they could not be
// asked is wrong too.
func Warn(ctx context.Context, run *workspace.Run, doc *audit.StatusDocument) {
	wrong := func(host, message, advice string) {
		doc.Wrong = append(doc.Wrong, audit.StatusProblem{What: "fleet", Where: host, Message: message, Advice: advice, Count: 1})
		doc.Well = false
	}
	hosts, err := Hosts(ctx, run)
	if err != nil {
		wrong("", err.Error(), failure.Explain(err).Hint)
	}
	for _, h := range hosts.Hosts {
		for _, text := range h.Wrong {
			wrong(h.Host, h.Host+": "+text, "on that host: sessctl status; if it is gone for good, as the owner: sessctl fleet remove "+h.Host)
		}
	}
}

// RemoveDocument is `fleet remove --json` (docs/json.md).
type RemoveDocument struct {
	Schema  int              `json:"schema"`
	Server  string           `json:"server"`
	Host    string           `json:"host"`
	Records int              `json:"records"` // that were removed
	Notes   []workspace.Note `json:"notes"`
}

// Remove takes a host out of the fleet, as its owner.
func Remove(ctx context.Context, run *workspace.Run, host string) (doc RemoveDocument, err error) {
	doc = RemoveDocument{Schema: 1, Host: host}
	own, err := own(ctx, run, "sessctl", false)
	if err != nil {
		return doc, err
	}
	defer own.Close()
	doc.Server = own.Address()
	doc.Records, err = own.Remove(ctx, host)
	return doc, explainOwner(err)
}
