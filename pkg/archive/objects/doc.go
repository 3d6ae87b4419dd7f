// Package objects keeps copies of archives on object storage, where they survive
// the loss of a host.
//
// A copy is one object, made once and never replaced:
//
//	s3://<bucket>/<prefix>/archives/<runtime>/<agent>/<session>.<id>.jsonl.zst
//	s3://<bucket>/<prefix>/entries/<id>.json
//
// The first is the archive's file as it is on disk, or an age file of it
// (https://age-encryption.org) if there are recipients. Any tool gets a
// conversation back from it. The second is the entry of the catalogue, with which
// another host, or this one after a loss, finds the archive and can check it. It
// is written last.
//
// Both are put with If-None-Match, so that nobody's copy is replaced, and with the
// SHA-256 of their bytes, which the storage checks. Then that checksum is asked
// for; where the storage does not keep it, the object is read back whole. Only a
// copy of which that was seen is called off-site.
//
// Nothing here deletes an object.
package objects
