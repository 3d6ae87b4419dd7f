package secrets

import "bytes"

// A table of Markdown tells in its head what the cells below are: one of a column of
// passwords is one, in every row.

// searchTables redacts the cells below a label. Text is not changed.
func (k *knowledge) searchTables(text []byte, f *finding) (clean []byte) {
	done := 0
	for at := nextRuler(text, 0); at >= 0; at = nextRuler(text, at+1) {
		columns := k.secretColumns(lineBefore(text, at))
		if len(columns) == 0 {
			continue
		}
		for _, cell := range cellsBelow(text, at, columns) {
			if cell[0] < done {
				continue
			}
			f.add(text[cell[0]:cell[1]])
			clean = append(append(clean, text[done:cell[0]]...), Mark...)
			done = cell[1]
		}
	}
	if done == 0 {
		return text
	}
	return append(clean, text[done:]...)
}

// nextRuler is where the next line begins that stands below the head of a table; -1 if
// there is none.
func nextRuler(text []byte, at int) int {
	for {
		n := bytes.Index(text[at:], []byte("\n|"))
		if n < 0 {
			return -1
		}
		at += n + 1
		if line := lineAt(text, at); len(bytes.Trim(line, "|-: \t\r")) == 0 && bytes.Contains(line, []byte("--")) {
			return at
		}
	}
}

func lineAt(text []byte, at int) []byte {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return text[at : at+n]
	}
	return text[at:]
}

func lineBefore(text []byte, at int) []byte {
	return text[bytes.LastIndexByte(text[:at-1], '\n')+1 : at-1]
}

// secretColumns are the columns whose heads are labels, and whether they are strong.
func (k *knowledge) secretColumns(head []byte) map[int]bool {
	columns := map[int]bool{}
	for i, cell := range bytes.Split(head, []byte("|")) {
		words := &k.labels.words
		for at := words.next(cell, 0); at < len(cell); at = words.next(cell, at+1) {
			for _, a := range words.beginning(cell[at:]) {
				l := k.labels.all[a.bit]
				r := labelReader{text: cell, at: at + len(l.word), begin: at}
				if a.standsAt(cell, at) && !l.login && !l.option && (l.stem || r.isWhole()) {
					columns[i] = columns[i] || l.strong
				}
			}
		}
	}
	return columns
}

// cellsBelow are the places of the cells of columns that have the form of a secret, in
// the rows below the ruler of a table.
func cellsBelow(text []byte, ruler int, columns map[int]bool) (cells [][2]int) {
	for at := ruler + len(lineAt(text, ruler)) + 1; at < len(text) && text[at] == '|'; {
		line := lineAt(text, at)
		from := at
		for i, cell := range bytes.Split(line, []byte("|")) {
			strong, isColumn := columns[i]
			if value := bytes.Trim(cell, " \t\r*_`\"'"); isColumn && isCellSecret(value, strong) {
				begin := from + bytes.Index(cell, value)
				cells = append(cells, [2]int{begin, begin + len(value)})
			}
			from += len(cell) + 1
		}
		at += len(line) + 1
	}
	return cells
}

func isCellSecret(value []byte, strong bool) bool {
	const least = 4
	if len(value) < least || bytes.ContainsAny(value, " \t(){}<>[]") || bytes.HasPrefix(value, []byte("/")) || bytes.Contains(value, []byte(Mark)) || isPlaceholder(value) {
		return false
	}
	if strong && (hasShape(value) || isPassphrase(value)) {
		return true
	}
	return isRandom(value) || isHex(value) || isHuman(value) || isPassphrase(value)
}
