// Package audit holds what was promised against what is there: receipts,
// catalogue, archives, memory and records of runs. It is the one judge whom
// archives verify, doctor, monitor, metrics, report and usage ask.
package audit
