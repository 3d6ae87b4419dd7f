// Package weaviate starts nodes of Weaviate (BSD-3-Clause) for tests, on
// loopback and in directories of their own. It uses the program that is
// installed, and says why where it cannot: testdata/weaviate/install.sh builds
// it.
package weaviate
