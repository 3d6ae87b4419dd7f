// Package mcptool is what the tools of the MCP server take and say: bounded lines
// of a connection, the questions of an agent as values, and answers as short text.
package mcptool
