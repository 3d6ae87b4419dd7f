package proof

import (
	"bytes"
	"encoding/json"
	"io"
)

// Types of a statement (https://github.com/in-toto/attestation).
const (
	statementType = "https://in-toto.io/Statement/v1"
	predicateType = "https://github.com/sessctl/sessctl/docs/ledger.md#proof-1"
)

// statement says of archives what a proof says of them.
type statement struct {
	Type      string    `json:"_type"`
	Subject   []subject `json:"subject"`
	Predicate string    `json:"predicateType"`
	Body      struct {
		Proof []json.RawMessage `json:"proof"` // its lines
	} `json:"predicate"`
}

// subject is an archive.
type subject struct {
	Name   string `json:"name"`
	Digest struct {
		SHA256 string `json:"sha256"`
	} `json:"digest"`
}

// WriteStatement writes a proof as a statement of in-toto about the archives that its
// leaves name. The lines of the proof are in it as they are.
func WriteStatement(to io.Writer, proof []byte, archives []Archive) error {
	s := statement{Type: statementType, Predicate: predicateType, Subject: []subject{}}
	for l := range bytes.Lines(proof) {
		s.Body.Proof = append(s.Body.Proof, json.RawMessage(bytes.TrimSuffix(l, []byte("\n"))))
	}
	for _, a := range archives {
		named := subject{Name: a.ID}
		named.Digest.SHA256 = a.SHA256
		s.Subject = append(s.Subject, named)
	}
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	return e.Encode(s)
}
