// Package tier says how much the tests try (docs/testing.md, "Tiers"). make test
// tries a smoke share, so that it takes minutes; make test-faults tries what a
// change must pass before it lands; make test-long tries everything. The
// environment chooses, and each tier makes the same runs every time.
package tier
