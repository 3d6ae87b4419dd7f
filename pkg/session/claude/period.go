package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/session/directory"
)

// defaultPeriod is how long Claude Code keeps a session that nobody uses
// unless cleanupPeriodDays says otherwise (research/formats.md section 10).
const defaultPeriod = 30

// maxPeriod is more days than a duration can hold, by far.
const maxPeriod = 36_500

// period returns how long after its last change the runtime deletes a log, when
// it is started next. Only the user's own settings are looked at. With an
// error it is 0: not known.
func (s *Store) period() (time.Duration, error) {
	const day = 24 * time.Hour
	d, err := directory.Open(s.config)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	raw, err := readSmall(d, settingsName)
	if errors.Is(err, fs.ErrNotExist) {
		return defaultPeriod * day, nil
	}
	if err != nil {
		return 0, err
	}
	var settings struct {
		Days *float64 `json:"cleanupPeriodDays"`
	}
	if err := json.Unmarshal(raw, &settings); err != nil {
		return 0, fmt.Errorf("read %s: %w", settingsName, err)
	}
	if settings.Days == nil || *settings.Days < 0 {
		return defaultPeriod * day, nil
	}
	return time.Duration(min(*settings.Days, maxPeriod) * float64(day)), nil
}
