package secrets

import "strings"

// Mark stands where something looked like a secret.
const Mark = "[redacted]"

// Redact puts [Mark] in the place of what looks like a secret and returns how
// many there were. Text without any is returned as it is.
func Redact(text string) (string, int) {
	k := known()
	bits := k.anchors.in([]byte(text))
	if bits == 0 {
		return text, 0
	}
	return k.search(text, bits)
}

// RedactBytes is [Redact] for bytes. What it returns is text itself, unchanged,
// if there is no secret, and memory of its own else.
func RedactBytes(text []byte) ([]byte, int) {
	k := known()
	bits := k.anchors.in(text)
	if bits == 0 {
		return text, 0
	}
	clean, n := k.search(string(text), bits)
	if n == 0 {
		return text, 0
	}
	return []byte(clean), n
}

// search looks for the shapes whose anchors the text has.
func (k *knowledge) search(text string, bits uint64) (string, int) {
	found := 0
	for i, r := range k.rules {
		if bits&(1<<i) == 0 {
			continue
		}
		for _, at := range r.pattern.FindAllStringIndex(text, -1) {
			if !strings.Contains(text[at[0]:at[1]], Mark) {
				found++
			}
		}
		text = r.pattern.ReplaceAllString(text, r.replace)
	}
	if bits&(1<<assignedBit) != 0 {
		text = k.assigned.ReplaceAllStringFunc(text, func(s string) string {
			clean := k.redactValue(s)
			if clean != s {
				found++
			}
			return clean
		})
	}
	return text, found
}

// redactValue keeps the name and replaces the value, unless it is a path,
// refers to a variable or is computed by a program. After "token" and the like, prose and numbers stand
// as often as secrets: only a longer value with letters and digits counts.
func (k *knowledge) redactValue(found string) string {
	m := k.assigned.FindStringSubmatch(found)
	name, kind, sign, value := m[1], strings.ToLower(m[2]), m[3], m[4]
	bare := strings.Trim(value, `"'`)
	if strings.HasPrefix(bare, Mark) || strings.ContainsAny(bare[:min(1, len(bare))], "/$~`") || k.computed.MatchString(value) {
		return found
	}
	if !strings.HasPrefix(kind, "pass") && kind != "pwd" && !looksRandom(bare) {
		return found
	}
	return name + sign + Mark
}

func looksRandom(s string) bool {
	return len(s) >= 8 && strings.ContainsAny(s, "0123456789") && strings.ContainsAny(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz")
}
