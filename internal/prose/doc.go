// Package prose writes text of made-up words with the frequencies of a language,
// for tests and measurements that need much of it: the same for the same seed.
package prose
