// Package fakegoosedb writes databases as Goose's source makes them, for tests.
package fakegoosedb
