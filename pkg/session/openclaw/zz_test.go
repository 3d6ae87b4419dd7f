package openclaw_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

func TestZ(t *testing.T) {
	for _, s := range []session.Store{
		openclaw.Open("/work/shared/samples/openclaw/derived"),
		openclaw.Open("/work/shared/samples/openclaw/deja-vu"),
		openclaw.Open("/work/shared/samples/openclaw/derived-sqlite-2026.8"),
		openclaw.Open("/work/shared/samples/openclaw/derived-sqlite-2026.6-authonly"),
		pi.Open("/work/shared/samples/pi/derived"), pi.Open("/work/shared/samples/pi/codexbar/omp"), pi.Open("/work/shared/samples/pi"), 
	} {
		l, err := s.List(context.Background())
		fmt.Println("==", s.Root(), err)
		for _, r := range l.Refs {
			tail, err := s.Tail(context.Background(), r)
			fmt.Printf("%s|%s|%s|%s|prim=%v|%s|%s|%d|%+v|%d\n   tail %+v %v\n", r.Agent, r.ID, r.Key, r.Kind, r.Primary, r.State, r.Reason, r.ContextWindow, r.Counter, r.Bytes, tail, err)
		}
		for _, n := range l.Notices {
			fmt.Printf("  N %+v\n", n)
		}
	}
}
