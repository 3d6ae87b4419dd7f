//go:build !linux

package durable

import "os"

func takeLease(*os.File) error { return ErrUnsupported }

func leaseHeld(*os.File) bool { return false }

func dropLease(*os.File) error { return nil }
