// Package partsformat reads the content of messages as Google's API for
// generating content has it: a string, a part, or a list of both, with calls of
// functions and their responses. The Gemini CLI and Qwen Code keep it in their
// logs.
package partsformat
