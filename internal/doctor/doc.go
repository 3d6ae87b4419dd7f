// Package doctor looks at everything of this tool and at the session stores, and
// says what is wrong and what to do about it. A check reads, changes nothing,
// and reports findings; how they are printed is the caller's business. Checks
// run in a fixed order, because later ones use what earlier ones have listed:
// sessions and stores, unfinished runs, receipts. Only FixUp and TrustClock
// change something.
package doctor
