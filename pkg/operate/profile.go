package operate

import (
	"fmt"
	"slices"
	"time"
)

// The steps that a profile can have. Each is the command of that name.
const (
	StepCompact       = "compact"
	StepArchive       = "archive"
	StepExtractFacts  = "extract-facts"
	StepArchiveVerify = "archives verify"
	StepClean         = "clean"
	StepArchivePrune  = "archives prune"
	StepPush          = "push"
	StepArchiveUpload = "archives upload"
)

// StepNames returns all steps, in the order that suits most profiles: what
// deletes comes after what was to be archived, and after archives were verified.
func StepNames() []string {
	return []string{StepCompact, StepArchive, StepExtractFacts, StepArchiveVerify, StepArchiveUpload, StepClean, StepArchivePrune, StepPush}
}

// DefaultProfile is the profile that there is without any configuration.
const DefaultProfile = "nightly"

// DefaultSteps returns the steps of a profile that names none. Nothing is
// deleted unless it is asked for.
func DefaultSteps() []string { return []string{StepCompact, StepArchive, StepArchiveVerify} }

// deletes reports whether a step deletes sessions or archives.
func deletes(step string) bool { return step == StepClean || step == StepArchivePrune }

// Hold says why a step must not begin, "" if it may. A step that fails does not
// stop those after it, but for this: nothing is deleted after a step of the same
// run that found damage, after archive or archives verify has failed, or after archive
// verify could not check everything; and
// nothing while the newest verification of earlier runs, newest first, stands
// for damage.
func Hold(step string, before []StepRecord, earlier []RunRecord) string {
	if !deletes(step) {
		return ""
	}
	verified := false
	for _, s := range before {
		proves := s.Step == StepArchive || s.Step == StepArchiveVerify
		switch {
		case s.Outcome == Damaged:
			return fmt.Sprintf("nothing is deleted after %s has found damage", s.Step)
		case proves && (s.Outcome == Failed || s.Outcome == Skipped):
			return fmt.Sprintf("nothing is deleted after %s has failed", s.Step)
		case s.Step == StepArchiveVerify && s.Outcome == Partial:
			return fmt.Sprintf("nothing is deleted after %s could not check everything", s.Step)
		case s.Step == StepArchiveVerify && s.Outcome == OK && s.reads():
			verified = true
		}
	}
	if at := standingDamage(earlier); !verified && !at.IsZero() {
		return fmt.Sprintf("nothing is deleted while archives are damaged, as found on %s", at.UTC().Format(time.RFC3339))
	}
	return ""
}

// HoldUnless is [Hold]; where it is not known how earlier runs ended, nothing is deleted.
func HoldUnless(known bool, step string, before []StepRecord, earlier []RunRecord) string {
	if !known && deletes(step) {
		return "nothing is deleted while it is not known how earlier runs ended"
	}
	return Hold(step, before, earlier)
}

// reads reports whether a verification has read every copy in full.
func (s StepRecord) reads() bool { return !slices.Contains(s.Command, "--quick") }

// verifications calls yield for each verification that came to an end, newest
// first, until that returns false.
func verifications(runs []RunRecord, yield func(StepRecord) bool) {
	for _, run := range runs {
		for _, s := range slices.Backward(run.Steps) {
			if s.Step == StepArchiveVerify && (s.Outcome == OK || s.Outcome == Damaged) && !yield(s) {
				return
			}
		}
	}
}

// standingDamage is when the newest verification of its kind, of those that only
// look or of those that read, has found damage; else the zero time. A look
// cannot take back what a read has found.
func standingDamage(earlier []RunRecord) (at time.Time) {
	verifications(earlier, func(s StepRecord) bool {
		if s.Outcome == Damaged {
			at = s.Started
			return false
		}
		return !s.reads()
	})
	return at
}

// LastRead is when the archives were last read in full and found to be whole;
// the zero time if they never were, or if damage has been found since.
func LastRead(runs []RunRecord) (at time.Time) {
	verifications(runs, func(s StepRecord) bool {
		if s.Outcome == OK && s.reads() {
			at = s.Started
		}
		return s.Outcome == OK && !s.reads()
	})
	return at
}

// LastDone is when a step was last done and ended well, the zero time if it never was.
func LastDone(runs []RunRecord, step string) (at time.Time) {
	for _, r := range runs {
		for _, s := range r.Steps {
			if s.Step == step && s.Outcome == OK && s.Started.After(at) {
				at = s.Started
			}
		}
	}
	return at
}

// badness orders outcomes, the worst first.
var badness = [...]Outcome{Interrupted, Damaged, Failed, Partial, Skipped, Busy, OK}

// Worst is the outcome of a run whose steps ended so: interrupted, damaged,
// failed, partial, busy or ok. A step that was skipped makes a run partial.
func Worst(steps []StepRecord) Outcome {
	for _, outcome := range badness {
		if slices.ContainsFunc(steps, func(s StepRecord) bool { return s.Outcome == outcome }) {
			if outcome == Skipped {
				return Partial
			}
			return outcome
		}
	}
	return OK
}
