// Package schedule makes the system run sessctl by itself: by units of systemd,
// a property list of launchd, or lines for cron.
//
// What is to run and when is a [Job]; what a manager is given for it are texts
// ([Job.Files], [Job.CronLines]) that depend on nothing but the job. A [Host]
// compares them with what is installed ([Host.PlanInstall], [Host.PlanRemove]),
// and [Host.Execute] carries the plan out. Only what carries our marker is ever
// replaced or removed.
//
// The unit of the system is confined to what the job needs. Three things stay
// open on purpose, because hiding them would make a session that is in use look
// idle: the processes of the machine and their details in /proc (ProtectProc=,
// ProcSubset=, PrivateUsers=), by which running runtimes are seen; the temporary
// directories, where OpenClaw keeps the lock of a running gateway; and the
// owner's own account, without which the kernel gives no lease on a file. A
// user's unit has no confinement of paths at all: systemd can only give it one
// in a user namespace, which hides the details of processes.
package schedule
