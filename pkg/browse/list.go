package browse

// list is a cursor in rows of which not all fit the screen.
type list struct {
	at, top int
	page    int // rows that fit, as they were drawn last
}

// move takes a key that moves the cursor among n rows; false if it is another one.
func (l *list) move(k Key, n int) bool {
	page := max(l.page-1, 1)
	switch k.Name {
	case "up", "k":
		l.at--
	case "down", "j":
		l.at++
	case "pgup", "ctrl+b", "b":
		l.at -= page
	case "pgdown", "ctrl+f", "space":
		l.at += page
	case "home", "g":
		l.at = 0
	case "end", "G":
		l.at = n - 1
	default:
		return false
	}
	l.at = max(min(l.at, n-1), 0)
	return true
}

// window says which rows of n are drawn on so many lines: from top to end.
func (l *list) window(n, height int) (top, end int) {
	l.page = max(height, 1)
	l.at = max(min(l.at, n-1), 0)
	l.top = max(min(l.top, l.at, n-l.page), 0)
	if l.at >= l.top+l.page {
		l.top = l.at - l.page + 1
	}
	return l.top, min(l.top+l.page, n)
}
