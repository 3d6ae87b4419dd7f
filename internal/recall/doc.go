// Package recall answers questions from what is remembered, here and on other
// hosts: it opens the memory that is asked, completes answers with their
// neighbours and with what was done, and finds where each was said.
package recall
