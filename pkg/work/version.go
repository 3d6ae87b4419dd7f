package work

// Version names the rule by which actions are made of messages. Whoever changes
// what is made of the same log changes it.
const Version = "work-1"
