package fakegateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
)

// Program is what stands for the runtime's program: it passes a call on to the
// gateway that the environment names and prints the answer. It returns the
// exit code.
func Program(args []string, out, complaints io.Writer) int {
	answer, err := Call(args, os.Getenv)
	if err != nil {
		_, _ = fmt.Fprintln(complaints, "Gateway call failed:", err)
		return 1
	}
	_, _ = io.WriteString(out, answer.Output)
	return answer.Exit
}

// Call passes one call on.
func Call(args []string, getenv func(string) string) (Answer, error) {
	var answer Answer
	if len(args) != 6 || !slices.Equal(args[:2], []string{"gateway", "call"}) || args[3] != "--params" || args[5] != "--json" {
		return answer, fmt.Errorf("unknown arguments %q", args)
	}
	connection, err := net.Dial("tcp", "127.0.0.1:"+getenv("OPENCLAW_GATEWAY_PORT"))
	if err != nil {
		return answer, err
	}
	defer connection.Close()
	r := request{Method: args[2], Parameters: json.RawMessage(args[4]), State: getenv("OPENCLAW_STATE_DIR")}
	if err := json.NewEncoder(connection).Encode(r); err != nil {
		return answer, err
	}
	if err := json.NewDecoder(connection).Decode(&answer); err != nil {
		return answer, fmt.Errorf("gateway closed (1006 abnormal closure): %w", err)
	}
	return answer, nil
}
