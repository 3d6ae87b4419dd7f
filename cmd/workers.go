package cmd

// maxWorkers bounds --workers: each holds the buffers of the log that it reads.
const maxWorkers = 64

// workers is how many logs are read at a time, where many are read and nothing
// is changed. What changes something is done one after the other.
func (a *app) workers() int { return max(a.global.Workers, 1) }

func (a *app) checkWorkers() error {
	if a.global.Workers < 1 || a.global.Workers > maxWorkers {
		return usageError("1 is one after the other", "--workers must be between 1 and %d, not %d", maxWorkers, a.global.Workers)
	}
	return nil
}
