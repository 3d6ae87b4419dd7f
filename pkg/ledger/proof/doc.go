// Package proof writes and checks a file that shows a part of the ledger to
// somebody who has neither the ledger, nor a key, nor a network.
//
// The ledger is a Merkle tree (RFC 6962) whose leaves are what happened. A proof
// shows some leaves word for word and, of what lies between them, only the hashes
// of subtrees. Together they cover the tree from its first leaf to its last, each
// place once, so that the root is computed from what the file has: no leaf can be
// shown that is not in the tree, none at another place, and none twice.
//
// The same pieces prove that the history was only continued: the root of a head
// that was signed earlier is computed from the pieces before its size. There is no
// second algorithm for that. Where an earlier head ends within a hidden subtree,
// [Write] cuts the subtree there.
//
// The file has a line of JSON for each piece, in this order:
//
//	{"proof":{"version":1,"key":K,"made":T,"selection":{…}}}
//	{"head":NOTE}                                 one or more, the smallest first
//	{"tree":{"from":A,"to":B,"hash":H}}           hidden: leaves A to B-1
//	{"leaf":{"at":A,"text":TEXT}}                 shown
//	{"bytes":{"archive":ID,"sha256":S,"gzip":Z}}  a piece of an archive, at the end
//
// docs/ledger.md describes it for whoever writes a verifier of his own, and
// testdata/proof/verify.py is one.
package proof
