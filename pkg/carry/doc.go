// Package carry makes of a context that a runtime would send one that another runtime
// can go on with:
//
//	Prepare   what was said, with its times; calls and their results in pairs with new
//	          ids; tools by the names that the other runtime has for them, or as text;
//	          secrets masked
//	Check     what providers refuse, so that nothing is written that cannot be sent
//
// What is left out or changed is counted in a Report: nothing goes without a line that
// says so. Where sessions are and how they are written is the business of the runtimes
// (session.Beginner).
package carry
