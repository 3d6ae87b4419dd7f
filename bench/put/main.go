// Command put puts every file below a directory into a bucket, one after the other,
// with minio-go's PutObject and nothing else: what an upload costs that looks at
// nothing before and after.
//
//	put http://127.0.0.1:9000 bucket DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "put:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("write put ENDPOINT BUCKET DIR")
	}
	client, err := minio.New(strings.TrimPrefix(args[0], "http://"), &minio.Options{Creds: credentials.NewEnvAWS()})
	if err != nil {
		return err
	}
	total := int64(0)
	err = filepath.WalkDir(args[2], func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(args[2], path)
		if err != nil {
			return err
		}
		put, err := client.FPutObject(context.Background(), args[1], name, path, minio.PutObjectOptions{})
		total += put.Size
		return err
	})
	fmt.Println(total)
	return err
}
