//go:build unix

package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Pooler is a pooler in transaction mode, as PgBouncer is: each transaction of a host
// is given another of two connections. It returns how to connect to it, and what ends it.
func Pooler(dsn string) (way string, stop func(), err error) { return Between(dsn, pool) }

// Between puts something between hosts and a server: it serves each connection of a
// host, and is told the socket of the server. It returns how to connect to it, and what
// ends it.
func Between(dsn string, serve func(host net.Conn, server string)) (way string, stop func(), err error) {
	const socket = ".s.PGSQL.5432"
	at := strings.TrimPrefix(strings.Fields(dsn)[0], "host=")
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has a limit
	if err != nil {
		return "", nil, fmt.Errorf("make a directory: %w", err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		_ = os.RemoveAll(dir) // it is empty
		return "", nil, fmt.Errorf("listen: %w", err)
	}
	go func() {
		for {
			host, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(host, filepath.Join(at, socket))
		}
	}()
	stop = func() {
		_ = listener.Close()
		_ = os.RemoveAll(dir) // of a test, in the temporary directory
	}
	return strings.Replace(dsn, at, dir, 1), stop, nil
}

// pool serves one host until it ends.
func pool(host net.Conn, server string) {
	defer host.Close()
	startup, err := message(host, 0)
	if err != nil || bytes.Contains(startup, []byte("timeout")) || bytes.Contains(startup, []byte("search_path")) {
		return // poolers refuse such parameters
	}
	var servers [2]net.Conn
	for i := range servers {
		if servers[i], err = net.Dial("unix", server); err != nil {
			return
		}
		defer servers[i].Close()
		told := io.Discard
		if i == 0 {
			told = host
		}
		if _, err := servers[i].Write(startup); err != nil || relay(told, servers[i]) == 0 {
			return
		}
	}
	for now := 0; ; {
		said, err := message(host, 1)
		if err != nil || said[0] == 'X' {
			return
		}
		if _, err := servers[now].Write(said); err != nil {
			return
		}
		if said[0] != 'Q' && said[0] != 'S' {
			continue
		}
		switch relay(host, servers[now]) {
		case 0:
			return
		case 'I': // no transaction is open
			now = 1 - now
		}
	}
}

// relay hands out what the server says until it is ready, and returns its state, 0 if
// it has ended.
func relay(host io.Writer, server io.Reader) byte {
	for {
		said, err := message(server, 1)
		if err == nil {
			_, err = host.Write(said)
		}
		if err != nil {
			return 0
		}
		if said[0] == 'Z' {
			return said[5]
		}
	}
}

// message reads a message whose length comes after so many bytes.
func message(from io.Reader, kind int) ([]byte, error) {
	head := make([]byte, kind+4)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, err
	}
	rest := make([]byte, binary.BigEndian.Uint32(head[kind:])-4)
	_, err := io.ReadFull(from, rest)
	return append(head, rest...), err
}
