// Package tier says how much the tests try (docs/dev/testing.md, "Tiers"). make test
// tries a smoke share, so that it takes a minute; make test-faults tries what a
// change must pass before it lands; make test-long tries everything. The
// environment chooses, and a tier makes the same runs for the same change and seed.
package tier
