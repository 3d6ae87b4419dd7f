package statements

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// language is one of those that statements are checked in.
type language uint8

const (
	english language = iota
	german
	french
	spanish
	italian
	portuguese
	dutch
	russian
	chinese
	japanese
	languages
)

// String names a language.
func (l language) String() string {
	return [...]string{"English", "German", "French", "Spanish", "Italian", "Portuguese", "Dutch", "Russian", "Chinese", "Japanese"}[l]
}

func expression(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// lexicon has for a word the languages in which it means something, as bits.
type lexicon map[string]uint16

// lexiconOf reads one line of words for each language that is written with spaces.
func lexiconOf(lines ...string) func() lexicon {
	return sync.OnceValue(func() lexicon {
		words := lexicon{}
		for l, line := range lines {
			for w := range strings.FieldsSeq(line) {
				words[w] |= 1 << l
			}
		}
		return words
	})
}

// common are frequent words that only one of the languages has.
var common = lexiconOf(
	`the and to that it for with you this are have be from not by been will should has which when can but`,
	`der das und ist nicht ich eine den mit für auf wir dem von wird noch nie statt wegen oder sind zum zur kein keine bei einen`,
	`les et est pas je une des pour dans qui sur avec nous vous du cette être ont aux ne`,
	`el los las y pero está hay más también muy sin ya esto unos vez ha cuando`,
	`il gli è non che di della sono nel anche più dei alla senza nella viene`,
	`não é um uma com em os ao são também isso na pelo sem você foi`,
	`het een niet van voor met dat zijn wordt nog geen ook naar maar bij wij deze`,
	`и в не на что это с для как но из от до мы я он по никогда нет без`,
)

// negative are words with which a clause says that something is not so.
var negative = lexiconOf(
	`not no never cannot nor neither none nothing nobody avoid avoids forbidden prohibited refuse refused`,
	`nicht kein keine keinen keinem keiner nie niemals nichts nirgends vermeide vermeiden verboten`,
	`ne pas jamais aucun aucune rien non évite éviter interdit`,
	`no nunca jamás ningún ninguna ninguno nada tampoco evita evitar prohibido`,
	`non mai nessun nessuno nessuna niente nulla evita evitare vietato`,
	`não nunca jamais nenhum nenhuma nada nem evite evitar proibido`,
	`niet geen nooit niets niemand vermijd verboden`,
	`не нет никогда ничего ни нельзя запрещено`,
)

// weak are negative words of what is not there, and not of what must not be.
var weak = lexiconOf(`no none nothing nobody nor neither`, `kein keine keinen keinem keiner nichts`, `rien aucun aucune`, `nada ningún ninguna ninguno`, `niente nulla nessun nessuno nessuna`, `nada nenhum nenhuma nem`, `geen niets niemand`, `нет ничего ни`)

// without are words behind which stands on what condition something may be done.
var without = lexiconOf(
	`without unless until except before`, `ohne außer bevor`, `sans sauf avant`, `sin salvo excepto antes`,
	`senza salvo prima`, `sem exceto antes`, `zonder tenzij voordat`, `без кроме пока`,
)

// empty are words that say nothing about what a statement is about, of those that do not
// tell a language.
var empty = lexiconOf(
	`a an is was were in of on at as or if so do does did had its his her their they we i he she our your my me us them there then than then now ok okay also just only would could may might must shall let lets get got very please user agent assistant yet still`,
	`die ein einer eines im in am an zu als auch es er sie so da dann nur um des aus nach vor über man mich mir dich sich ja nun`,
	`le la l un d de à au en ce se il elle on que s y ou par son sa ses plus`,
	`la lo un una de del a al en que se su es con por para o le e entonces`,
	`lo la le un una a al del in con per su si da e ed o ma`,
	`o a e as do da de no se que por para mais um`,
	`de en is in op te aan om er ik je die als dan of`,
	`а у к о за то же бы так его ее её их мне вы ты все`,
)

// negations without spaces around them, and those of Chinese and Japanese words that only
// look like them.
var (
	joined  = expression(`不要|不能|不可以?|不得|不许|不准|不会|不是|不再|不用|不应|没有?|未能?|禁止|切勿|请勿|别(?:再|去|动|碰|删|用)?|绝不|从不|永不|ない|なかった|ません|禁止|してはいけ|するな|しないで`)
	lookers = expression(`不过|不同|不错|不但|不仅|不断|没事|未来|沒事|少ない|仕方ない`)
)

// preferring stands between what was chosen and what was not, in the languages served.
var preferring = expression(`(?i)(?:\s(?:instead of|rather than|in favou?r over|anstelle von|anstatt|statt|plutôt que|au lieu de|à la place de|en (?:vez|lugar) de|invece (?:di|che)|al posto di|em vez de|ao invés de|in plaats van|вместо)\s|\s*(?:而不是|而非|ではなく|じゃなくて)\s*)`)

// languagesOf counts the words of a text that tell its language.
func languagesOf(text string) (counts [languages]int) {
	for _, w := range fields(text) {
		for l, bits := language(0), common()[w]; bits != 0; l, bits = l+1, bits>>1 {
			counts[l] += int(bits & 1)
		}
	}
	kana, han := 0, 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		}
	}
	if kana*8 > han {
		counts[japanese] = (kana + han) / 4
	} else {
		counts[chinese] = han / 3
	}
	return counts
}

// strongest is the language of which a text has most words, and how many.
func strongest(counts [languages]int) (best language, most int) {
	for l, n := range counts {
		if n > most {
			best, most = language(l), n
		}
	}
	return best, most
}
