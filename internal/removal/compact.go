package removal

import "github.com/sessctl/sessctl/pkg/compact"

// StageRead is what the progress bar says while a session is planned.
const StageRead compact.Stage = "read"
