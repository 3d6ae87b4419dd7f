// Package fleet makes hosts the hosts of one shared memory: the owner invites them, each
// joins with a line, and anybody of them sees how the others are.
package fleet
