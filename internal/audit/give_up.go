package audit

import "github.com/sessctl/sessctl/pkg/compact"

// GivenUp is what `doctor --give-up` did.
type GivenUp struct {
	compact.GivenUp
	Nothing bool `json:"nothing"` // it could be finished after all
}
