package smallpackages_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// table is a FlatBuffers table in a buffer: what a reader needs of the format,
// written from its specification and not from the writer.
type table struct {
	buffer []byte
	at     int
}

func u16(b []byte) int { return int(binary.LittleEndian.Uint16(b)) }

func u32(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }

func u64(b []byte) int { return int(binary.LittleEndian.Uint64(b)) }

func root(buffer []byte) table { return table{buffer, u32(buffer)} }

// field is where field n is, or 0.
func (t table) field(n int) int {
	list := t.at - int(int32(u32(t.buffer[t.at:])))
	if 4+2*n >= u16(t.buffer[list:]) {
		return 0
	}
	if offset := u16(t.buffer[list+4+2*n:]); offset > 0 {
		return t.at + offset
	}
	return 0
}

func (t table) number(n, size int) int {
	at := t.field(n)
	switch {
	case at == 0:
		return 0
	case at%size != 0:
		panic(fmt.Sprintf("field %d at %d is not aligned to %d", n, at, size))
	case size == 1:
		return int(t.buffer[at])
	case size == 2:
		return u16(t.buffer[at:])
	case size == 4:
		return u32(t.buffer[at:])
	}
	return u64(t.buffer[at:])
}

func (t table) child(n int) table {
	at := t.field(n)
	return table{t.buffer, at + u32(t.buffer[at:])}
}

// vector returns where the elements of a vector begin, and how many there are.
func (t table) vector(n int) (at, count int) {
	v := t.child(n)
	return v.at + 4, u32(v.buffer[v.at:])
}

func (t table) text(n int) string {
	at, count := t.vector(n)
	if t.buffer[at+count] != 0 {
		panic("a string without its final zero")
	}
	return string(t.buffer[at : at+count])
}

type fileContent struct {
	schema []string
	rows   []map[string]any
}

// readFile reads a file by its footer, and checks that reading it from its
// beginning gives the same messages.
func readFile(file []byte) (c fileContent, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("broken file: %v", p)
		}
	}()
	if string(file[:8]) != "ARROW1\x00\x00" || string(file[len(file)-6:]) != "ARROW1" {
		return c, errors.New("no magic")
	}
	size := u32(file[len(file)-10:])
	footer := root(file[len(file)-10-size : len(file)-10])
	if footer.number(0, 2) != 4 {
		return c, errors.New("footer of another version")
	}
	var names []string
	var dims []int
	for _, f := range fieldsOf(footer.child(1)) {
		kind, dim := typeOf(f)
		names, dims = append(names, f.text(0)), append(dims, dim)
		c.schema = append(c.schema, f.text(0)+" "+kind)
	}
	at, body := message(file, 8)
	if at.number(1, 1) != 1 || len(body) > 0 || len(fieldsOf(at.child(2))) != len(names) {
		return c, errors.New("the first message is not the schema")
	}
	next := 8 + 8 + u32(file[12:])
	blocks, count := footer.vector(3)
	for i := range count {
		block := footer.buffer[blocks+24*i:]
		if u64(block) != next {
			return c, fmt.Errorf("batch %d at %d, want %d", i, u64(block), next)
		}
		header, body := message(file, next)
		next += u32(block[8:]) + u64(block[16:])
		if u64(block[16:]) != len(body) || header.number(1, 1) != 3 {
			return c, errors.New("not a batch")
		}
		c.rows = append(c.rows, batchRows(header.child(2), body, names, dims)...)
	}
	if u32(file[next:]) != 0xffffffff || u32(file[next+4:]) != 0 || next+8 != len(file)-10-size {
		return c, errors.New("no end of the stream before the footer")
	}
	return c, nil
}

// message reads the message at a place of the file.
func message(file []byte, at int) (table, []byte) {
	size := u32(file[at+4:])
	if u32(file[at:]) != 0xffffffff || size%8 != 0 || at%8 != 0 {
		panic("not a message")
	}
	m := root(file[at+8 : at+8+size])
	return m, file[at+8+size:][:m.number(3, 8)]
}

func fieldsOf(schema table) (fields []table) {
	at, count := schema.vector(1)
	for i := range count {
		fields = append(fields, table{schema.buffer, at + 4*i + u32(schema.buffer[at+4*i:])})
	}
	return fields
}

func typeOf(f table) (name string, dim int) {
	if f.number(1, 1) != 1 {
		panic("not nullable")
	}
	switch f.number(2, 1) {
	case 3:
		return []string{"halffloat", "float", "double"}[f.child(3).number(0, 2)], 0
	case 5:
		return "utf8", 0
	case 16:
		at, count := f.vector(5)
		item := table{f.buffer, at + u32(f.buffer[at:])}
		kind, _ := typeOf(item)
		dim = f.child(3).number(0, 4)
		if count != 1 {
			panic("a list of several items")
		}
		return fmt.Sprintf("fixed_size_list<%s: %s>[%d]", item.text(0), kind, dim), dim
	}
	panic("unknown type")
}

// batchRows reads the rows of a batch with the columns text, vector, number.
func batchRows(batch table, body []byte, names []string, dims []int) []map[string]any {
	rows := make([]map[string]any, batch.number(0, 8))
	for i := range rows {
		rows[i] = map[string]any{}
	}
	at, _ := batch.vector(2)
	buffer := func(n int) []byte {
		start, size := u64(batch.buffer[at+16*n:]), u64(batch.buffer[at+16*n+8:])
		if start%8 != 0 {
			panic("a buffer that is not aligned")
		}
		return body[start : start+size]
	}
	offsets, texts, valid, floats, doubles := buffer(1), buffer(2), buffer(3), buffer(5), buffer(7)
	for i, row := range rows {
		row[names[0]] = string(texts[u32(offsets[4*i:]):u32(offsets[4*i+4:])])
		row[names[1]] = nil
		if len(valid) == 0 || valid[i/8]>>(i%8)&1 == 1 {
			vector := make([]float32, dims[1])
			for k := range vector {
				vector[k] = math.Float32frombits(uint32(u32(floats[4*(i*dims[1]+k):])))
			}
			row[names[1]] = vector
		}
		row[names[2]] = math.Float64frombits(uint64(u64(doubles[8*i:])))
	}
	return rows
}
