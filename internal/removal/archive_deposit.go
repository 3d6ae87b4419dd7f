package removal

// JournalEnd follows the id of a session in the name of its journal's archive.
const JournalEnd = ".journal"
