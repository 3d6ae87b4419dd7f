// Package monitor decides what a person has to hear of. It is given what one
// look at a machine has found ([Look]) and what it knew before ([State]), and
// says what is wrong now and which events tell of it.
//
// Something that is wrong is told when it begins, and once: a condition is
// raised when its value crosses the limit, and only a value well on the other
// side of the limit (hysteresis) lets it be raised again, at the earliest when
// the cool-down is over. Events of quiet hours are held and told when those end.
//
// Nothing is told twice, and nothing is forgotten, whenever the process is
// killed: the state with the events, and their ids, is written first; then the
// events are put; then the state without them. A process that is killed in
// between puts the same events again, with the same ids, at the next look.
package monitor
