package workspace

import (
	"math"
	"time"
	_ "time/tzdata" // machines without time zones know those of the configuration too

	"github.com/dustin/go-humanize"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// monitorConfig says when the monitor tells of something (docs/monitor.md).
type monitorConfig struct {
	CoolDown   time.Duration `mapstructure:"cool_down" json:"cool_down"`     // between two events about the same
	QuietHours string        `mapstructure:"quiet_hours" json:"quiet_hours"` // "22:00-07:00 Europe/Berlin"
	DiskLimit  string        `mapstructure:"disk_limit" json:"disk_limit"`   // a size
	Growth     growthConfig  `mapstructure:"growth" json:"growth"`
	Overdue    time.Duration `mapstructure:"overdue" json:"overdue"` // since the last success of a profile; 0 = by its own pauses, below 0 never
	Compact    bool          `mapstructure:"compact" json:"compact"`
}

type growthConfig struct {
	Factor float64 `mapstructure:"factor" json:"factor"` // of what is usual; 0 = off
	Floor  string  `mapstructure:"floor" json:"floor"`   // bytes an hour, a size
}

func monitorDefaults() map[string]any {
	return map[string]any{
		"monitor.cool_down":     "1h",
		"monitor.quiet_hours":   "",
		"monitor.disk_limit":    "1GiB",
		"monitor.growth.factor": 4,
		"monitor.growth.floor":  "8MiB",
		"monitor.overdue":       0,
		"monitor.compact":       false,
	}
}

// MonitorSettings are the checked settings of the monitor. The error names the
// file and the line, or the variable.
func MonitorSettings(a *Settings) (monitor.Options, error) {
	options, err := a.Config.Monitor.options()
	return options, BlameKey(a, err)
}

// options checks the configuration of the monitor.
func (c monitorConfig) options() (o monitor.Options, err error) {
	o = monitor.Options{CoolDown: c.CoolDown, Overdue: c.Overdue, NewID: outbox.NewID}
	if c.CoolDown < 0 {
		return o, failure.Usage("1h, or 0s for none", "monitor.cool_down must not be negative")
	}
	if c.QuietHours != "" {
		if o.Quiet, err = monitor.ParseQuietHours(c.QuietHours); err != nil {
			return o, failure.Usage("write 22:00-07:00 Europe/Berlin", "monitor.quiet_hours: %w", err)
		}
	}
	if _, err := c.Limit(); err != nil {
		return o, err
	}
	if c.Growth.Factor < 0 || math.IsNaN(c.Growth.Factor) || math.IsInf(c.Growth.Factor, 0) {
		return o, failure.Usage("4 is the default, 0 turns it off", "monitor.growth.factor must not be %v", c.Growth.Factor)
	}
	o.Growth.Factor = c.Growth.Factor
	o.Growth.Floor, err = parseSize("monitor.growth.floor", c.Growth.Floor)
	return o, err
}

// Limit is what must be free, in bytes.
func (c monitorConfig) Limit() (int64, error) {
	return parseSize("monitor.disk_limit", c.DiskLimit)
}

// parseSize reads the size that a key of the configuration takes.
func parseSize(key, text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return 0, failure.Usage("write 500MB, 1GiB or 0", "%s: %q is not a size", key, text)
	}
	return int64(size), nil
}
