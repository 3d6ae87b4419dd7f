package jsonl_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

func ExampleCursor() {
	var c jsonl.Cursor
	c.Reset([]byte(`{"role":"user","content":[{"type":"text","text":"a\nb"},{"type":"image","data":"QUJD"}],"usage":{"input":12.0}}`))
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "role":
			role, _ := c.Bytes()
			fmt.Printf("role %s\n", role)
		case "content":
			for ok := c.EnterArray(); ok && c.NextElement(); {
				for ok := c.EnterObject(); ok && c.NextKey(); {
					if string(c.Key()) == "text" {
						text, _ := c.Bytes()
						fmt.Printf("text %q\n", text)
					}
				}
			}
		case "usage":
			for ok := c.EnterObject(); ok && c.NextKey(); {
				if string(c.Key()) == "input" {
					n, _ := c.Int64()
					fmt.Println("input", n)
				}
			}
		}
	}
	fmt.Println(c.End())
	// Output:
	// role user
	// text "a\nb"
	// input 12
	// <nil>
}

func ExampleDecompress() {
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	io.WriteString(w, "{\"a\":1}\n{\"b\":2}\n")
	w.Close()

	log, compression, err := jsonl.Decompress(&file, int64(file.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	counts, err := jsonl.Scan(context.Background(), log, jsonl.Options{}, func(r *jsonl.Record) error {
		fmt.Printf("%s\n", r.Raw)
		return nil
	})
	fmt.Println(compression, counts.Records, err)
	// Output:
	// {"a":1}
	// {"b":2}
	// gzip 2 <nil>
}
