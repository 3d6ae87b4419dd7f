package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/sessctl/sessctl/bench/corpus"
	"github.com/sessctl/sessctl/internal/objectstore"
)

// uploaded asks how many bytes of archives went to the storage.
const uploaded question = "bytes uploaded"

// uploadPeak bounds the memory of an upload beyond the start of the program,
// whatever the size of its archives.
const uploadPeak = 32 << 20

// uploadOperations send archives to an S3 server on this machine, whose own time
// does not count.
func uploadOperations(quick bool) []operation {
	name, from := "archives upload, 200 MB in 116 logs", "m200"
	if quick {
		name, from = "archives upload, 20 MB in 12 logs", "m20"
	}
	return []operation{{name: name, corpus: from, needs: "versitygw", peak: uploadPeak, rounds: 3, programs: []program{archiveUpload(), putAlone(), rclone()}}}
}

func archiveUpload() program {
	return program{
		name: "sessctl archives upload", tool: "sessctl", question: uploaded, env: storageKeys(), prepare: prepareUpload,
		arguments: func(t *tools, _ corpus.Corpus) []string {
			return []string{"archives", "upload", "--json", "--data-dir", t.upload("data"), "--config", t.upload("config.yaml")}
		},
		answer: func(out []byte) (string, error) {
			var document struct {
				Bytes int64 `json:"bytes"`
			}
			err := json.Unmarshal(out, &document)
			return strconv.FormatInt(document.Bytes, 10), err
		},
	}
}

// putAlone sends the same files with the client that sessctl uses.
func putAlone() program {
	return program{
		name: "minio-go PutObject", tool: "put", question: uploaded, env: storageKeys(), prepare: prepareUpload, answer: trimmed,
		arguments: func(t *tools, _ corpus.Corpus) []string {
			endpoint, _ := os.ReadFile(t.upload("endpoint")) // prepareUpload has written it
			return []string{string(endpoint), benchBucket, t.upload("data/archive")}
		},
	}
}

// rclone sends four files at a time.
func rclone() program {
	return program{
		name: "rclone copy", tool: "rclone", question: uploaded, env: storageKeys(), prepare: prepareUpload, answer: trimmed,
		arguments: func(t *tools, _ corpus.Corpus) []string {
			return []string{"copy", "--config", t.upload("rclone.conf"), t.upload("data/archive"), "versitygw:" + benchBucket}
		},
	}
}

const benchBucket = "bench"

func storageKeys() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + objectstore.AccessKey, "AWS_SECRET_ACCESS_KEY=" + objectstore.SecretKey}
}

// upload is a file of the uploads, which lie beside the programs.
func (t *tools) upload(name string) string { return filepath.Join(t.dir, "..", "upload", name) }

// prepareUpload starts the server with an empty bucket, and makes the archives and
// a catalogue that knows of no copy.
func prepareUpload(d *driver, c corpus.Corpus) error {
	t := d.tools
	if err := d.stopStorage(); err != nil {
		return err
	}
	server, err := objectstore.Start(context.Background(), t.upload("storage"))
	if err != nil {
		return err
	}
	d.storage = server
	if err := server.MakeBucket(context.Background(), benchBucket, false); err != nil {
		return err
	}
	endpoint := "http://" + server.Address
	for name, text := range map[string]string{
		"endpoint":    endpoint,
		"config.yaml": fmt.Sprintf("archive:\n  remote: s3://%s/host\n  endpoint: %s\n", benchBucket, endpoint),
		"rclone.conf": fmt.Sprintf("[versitygw]\ntype = s3\nprovider = Other\nenv_auth = true\nendpoint = %s\n", endpoint),
	} {
		if err := os.WriteFile(t.upload(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	made, kept := t.upload("data/archives"), t.upload("archives-"+c.Name)
	if _, err := os.Stat(kept); err != nil {
		p := program{name: "sessctl archive", tool: "sessctl", arguments: words("archive", "--all", "--quiet", "--data-dir", t.upload("data"))}
		if err := os.RemoveAll(t.upload("data")); err != nil {
			return err
		}
		if _, err := d.run(p, c, p.arguments); err != nil {
			return err
		}
		return exec.Command("cp", "-a", made, kept).Run()
	}
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	return exec.Command("cp", "-a", kept, made).Run()
}

// stopStorage ends the server and removes what it has.
func (d *driver) stopStorage() error {
	if d.storage == nil {
		return nil
	}
	d.storage.Kill()
	d.storage = nil
	return os.RemoveAll(d.tools.upload("storage"))
}
