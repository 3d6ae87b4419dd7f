// Package copieddb reads rows of a database that a program may have left in the
// middle of a change, from a copy: the database itself and its logs stay what they are.
package copieddb
