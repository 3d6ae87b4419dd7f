package selection

import (
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/session"
)

// IsAttachment reports whether an archive is of a file that records name by its
// hash.
func IsAttachment(e archive.Entry) bool {
	return workspace.TraitsOf(e.Runtime).Attached != nil && e.Kind == string(session.KindOutput) && e.Session == e.SHA256
}
