package scriptcmd

import (
	"context"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sessctl/sessctl/internal/objectstore"
)

// storage BUCKET... starts an S3 server with these buckets, and sets $STORAGE to
// its address and the variables with its keys. A script that wants one begins with [!storage] skip.
func storage(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: storage BUCKET...")
	}
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "storage")
	ts.Check(err)
	server, err := objectstore.Start(context.Background(), dir)
	ts.Check(err)
	ts.Defer(server.Kill)
	for _, bucket := range args {
		ts.Check(server.MakeBucket(context.Background(), bucket, false))
	}
	ts.Setenv("STORAGE", "http://"+server.Address)
	ts.Setenv("AWS_ACCESS_KEY_ID", objectstore.AccessKey)
	ts.Setenv("AWS_SECRET_ACCESS_KEY", objectstore.SecretKey)
}
