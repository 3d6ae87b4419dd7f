//go:build !linux

package durable

func changeTimeTells(string) bool { return false }
