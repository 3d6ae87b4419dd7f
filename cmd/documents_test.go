package cmd

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/retention"
)

// filled is a value of which no field that JSON can have is zero, and no two
// numbers or texts are the same.
func filled[T any]() (value T) {
	n := 0
	fill(reflect.ValueOf(&value).Elem(), &n)
	return value
}

func fill(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
		return
	case json.RawMessage:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(*n))
	case reflect.Uint64, reflect.Uint32:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				fill(v.Field(i), n)
			}
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// tells holds that every field of a document but these is what the field of the
// same name of its source is.
func tells(t *testing.T, document, source any, but ...string) {
	t.Helper()
	doc, from := reflect.ValueOf(document), reflect.ValueOf(source)
	for _, f := range reflect.VisibleFields(doc.Type()) {
		if f.Anonymous || slices.Contains(but, f.Name) {
			continue
		}
		got, want := doc.FieldByIndex(f.Index), from.FieldByName(f.Name)
		if !want.IsValid() || got.IsZero() || shown(got) != shown(want) {
			t.Errorf("%T: %s is %s, want %v", document, f.Name, shown(got), want)
		}
	}
}

// shown is a value with the names of its fields, but not of its types.
func shown(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return fmt.Sprintf("%+v", v)
}

// TestDocumentsTell holds what is printed of what is stored, where each has a type
// of its own.
func TestDocumentsTell(t *testing.T) {
	result := filled[compact.Result]()
	tells(t, selection.NewCompactedSession(result), result)
	record := filled[operate.RunRecord]()
	row := audit.NewRunRow(record)
	tells(t, row, record, "Host", "Steps")
	tells(t, row.Steps[0], record.Steps[0], "Document")
	job := filled[jobs.Job]()
	served := web.NewJobDocument(job)
	tells(t, served.Job, job, "Result")
	tells(t, *served.Result, *job.Result)
	event := filled[outbox.Kept]()
	tells(t, audit.NewEventRow(event), event)
}

// TestStoredRoundTrips holds that what is stored is read as it was.
func TestStoredRoundTrips(t *testing.T) {
	roundTrips[archive.Entry](t)
	roundTrips[audit.Check](t)
	roundTrips[compact.Intent](t)
	roundTrips[compact.Receipt](t)
	roundTrips[jobs.Job](t)
	roundTrips[monitor.State](t)
	roundTrips[operate.RunRecord](t)
	roundTrips[outbox.Delivery](t)
	roundTrips[outbox.Event](t)
	roundTrips[removal.PinnedSessions](t)
	roundTrips[removal.ShrinkIntent](t)
	roundTrips[retention.Item](t)
	roundTrips[retention.Line](t)
	roundTrips[steps.FactsReceipt](t)
	roundTrips[unattended.HookFailed](t)
}

func roundTrips[T any](t *testing.T) {
	t.Helper()
	var read T
	value := filled[T]()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil || !reflect.DeepEqual(read, value) {
		t.Errorf("%T: %v\n got %+v\nwant %+v", value, err, read, value)
	}
}
