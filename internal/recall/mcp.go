package recall

// MostComplaint bounds what an error says, in bytes: it may quote what it was
// sent.
const MostComplaint = 1000
