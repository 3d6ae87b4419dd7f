package audit

import "github.com/sessctl/sessctl/internal/selection"

// UndoCommand is what reverses the compaction of a receipt.
func UndoCommand(receipt string) string {
	return "sessctl compact --undo " + selection.ShortReceipt(receipt)
}
