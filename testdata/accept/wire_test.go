package main

import "testing"

// Each body breaks one rule that the providers state; the first of each protocol breaks
// none.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		body string
		ok   bool
	}{
		{`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":""},{"role":"user","content":"b"}]}`, true},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}}]},{"role":"user","content":"b"},{"role":"tool","tool_call_id":"c","content":"r"}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}}]}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"c","content":"r"}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"a b","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"n","arguments":"x"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`, false},
		{`{"messages":[{"role":"user","content":" "}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":""}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}`, true},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"},{"type":"text","text":"b"}]}]}`, true},
		{`{"messages":[{"role":"assistant","content":[{"type":"text","text":"a"}]}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c:1","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c:1","content":"r"}]}]}`, false},
		{`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"}]}]}`, false},
		{`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}`, true},
		{`{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call_output","call_id":"c","output":"r"}]}`, false},
		{`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"n","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"n","response":{"output":"r"}}}]}]}`, true},
		{`{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"n","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"n","response":{"output":"r"}}},{"functionResponse":{"name":"n","response":{"output":"r"}}}]}]}`, false},
		{`{"contents":[{"role":"model","parts":[{"text":"a"}]}]}`, false},
	} {
		if err := refused([]byte(test.body)); (err == nil) != test.ok {
			t.Errorf("%s\nrefused: %v", test.body, err)
		}
	}
}
