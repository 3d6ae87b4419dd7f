package selection

import "github.com/sessctl/sessctl/internal/failure"

// HostsOption is --host: the question is asked of sessctl on these hosts, by the
// user's own ssh, and the answers are shown as one.
type HostsOption struct {
	Hosts []string

	Arguments []string // of the command there
}

// Asked reports whether other hosts are to be asked.
func (o *HostsOption) Asked() bool { return len(o.Hosts) > 0 }

// HostAnswer is what became of the question on one host: `hosts` of --json.
type HostAnswer struct {
	Host     string             `json:"host"`
	Answered bool               `json:"answered"`
	Exit     int                `json:"exit_code"` // of sessctl there, or of ssh
	Error    *failure.ErrorBody `json:"error"`     // why there is no answer, else null

	Document []byte `json:"-"`
}
