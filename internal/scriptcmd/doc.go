// Package scriptcmd has the commands that the scripts in testdata/script use
// beside those of testscript itself. A PATTERN is one of path/filepath.Match, so
// that * fits hidden files too.
//
// Files:
//
//	copytree FROM TO                  copy a directory, from the module or the script
//	aged DURATION PATH...             make files look untouched for so long
//	file NAME PATTERN [first|last]    set $NAME to the path that fits
//	id NAME PATTERN [first|last]      set $NAME to its base name without the ending
//	read NAME PATTERN                 set $NAME to the text of the file that fits
//	[!] holds REGEXP PATTERN...       a file that fits has a match
//	[!] count N PATTERN...            so many paths fit
//	[!] mode PERMISSIONS PATH...      the permissions, in octal, are these
//	[!] sameas A B                    the bytes are the same
//	tree DIR FILE                     note names, modes, times and hashes, to compare
//	lines FILE N|N-M|-N               print lines; "cp stdout FILE" keeps them
//	append FILE FROM [RANGE]          add a file, or lines of it, to another
//	replace REGEXP TEXT PATTERN...    replace what matches; something must
//	overwrite FILE OFFSET TEXT        damage a file in the middle
//	damage FILE TABLE                 damage the page that a table of a database begins with
//	shorten PATTERN BYTES             cut files off
//	remove PATTERN...                 remove what fits; something must
//	mkfifo FILE                       make a FIFO
//
// JSON:
//
//	nest FILE DEPTH OPEN CLOSE        put 1, nested so deep, where NESTED stands
//	[!] jsonhas FILE PATH REGEXP      a value matches
//	jsonget NAME FILE PATH            set $NAME to a value
//
// Programs and servers:
//
//	exit CODE COMMAND...              run a program that ends with this code
//	agentdb FILE [WHAT...]            write a database of OpenClaw
//	sessiondb FILE [live] [SQL]       write a database of OpenCode
//	statedb FILE SCHEMA [live] [SQL]  write a database of Hermes
//	hubdb DIR [DATABASE SQL]          write the databases of Cline's hub
//	unredact DIR TEXT                 put TEXT for every mark in a memory, as older rules did
//	gateway start DIR|behave HOW|stop a gateway of OpenClaw
//	embedder start|stop|...           a server for embeddings
//	model start|says MODE|...         a server for summaries and facts
//
// Where a shell is the point (a pipe, a closed output, a umask), scripts run
// one with "exec sh -c".
package scriptcmd
