package embed

import "testing"

func TestFold(t *testing.T) {
	for from, want := range map[rune]rune{
		'À': 'a', 'é': 'e', 'Ñ': 'n', 'ø': 'o', 'Ø': 'o', 'ł': 'l', 'Đ': 'd', 'ı': 'i', 'İ': 'i', 'ž': 'z', 'Ș': 's', 'ț': 't',
		'ệ': 'e', 'Ừ': 'u', 'ỹ': 'y', 'Ǻ': 'a', 'ȳ': 'y',
		'ß': 'ß', 'Æ': 'æ', '×': '×', 'Ж': 'ж', 'ǅ': 'ǆ', 'ɏ': 'ɏ', 'ỿ': 'ỿ', 'a': 'a', '日': '日',
	} {
		if got := fold(from); got != want {
			t.Errorf("fold(%c) = %c, want %c", from, got, want)
		}
	}
	if len(latinBases) != 0x250-0xC0 || len(vietnameseBases) != 0x100 {
		t.Errorf("tables of %d and %d letters", len(latinBases), len(vietnameseBases))
	}
}

func TestIsUnspaced(t *testing.T) {
	for _, r := range "漢々〇ひカーㄅ한ᄀㄱ豈ｶ𠮷ไທမខ" {
		if !isUnspaced(r) {
			t.Errorf("%c %U is spaced", r, r)
		}
	}
	for _, r := range "aéжαאاहএ・、。「１￥🙂\u0e3f" {
		if isUnspaced(r) {
			t.Errorf("%c %U is unspaced", r, r)
		}
	}
}
