// Package unattended is what runs without a person need: schedules of the system
// with the right account, environment and network, and the hooks that runtimes
// call.
package unattended
