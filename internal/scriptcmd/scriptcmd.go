package scriptcmd

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Commands returns the commands by their names.
func Commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"agentdb":   agentDB,
		"sessiondb": sessionDB,
		"statedb":   stateDB,
		"goosedb":   gooseDB,
		"hubdb":     hubDB,
		"aged":      aged,
		"append":    appendFile,
		"copytree":  copyTree,
		"count":     count,
		"embedder":  embedder,
		"postgres":  postgresServer,
		"psql":      psql,
		"storage":   storage,
		"broken":    broken,
		"exit":      exitStatus,
		"file":      file,
		"gateway":   gateway,
		"holds":     holds,
		"id":        id,
		"jsonget":   jsonGet,
		"jsonhas":   jsonHas,
		"lines":     lines,
		"mkfifo":    makeFIFO,
		"mode":      mode,
		"model":     model,
		"nest":      nest,
		"overwrite": overwrite,
		"read":      read,
		"receiver":  receiver,
		"remove":    remove,
		"replace":   replace,
		"sameas":    sameAs,
		"shorten":   shorten,
		"damage":    damage,
		"sql":       execSQL,
		"tree":      tree,
		"unredact":  unredact,
	}
}

// Setup gives a script the servers that its commands start. Relative sources of
// copytree are below $SOURCE, which the caller sets.
func Setup(e *testscript.Env) {
	e.Values[gatewayKey{}] = &scriptGateway{}
	e.Values[embeddingKey{}] = &scriptEmbedding{}
	e.Values[modelKey{}] = &scriptModel{}
	e.Values[receiverKey{}] = &scriptReceiver{}
}

// exit CODE COMMAND... runs a command and checks its exit code.
func exitStatus(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
