package state

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a plan.
const (
	maxPlanBytes = 256 << 10 // of the arguments of one call
	maxPlanItems = 200
	planRunes    = 400 // of one item
)

// planner follows the plan tools of the runtimes. Most are called with the whole
// list each time: the last call counts. Some add to the list or change one item.
type planner struct {
	items []planned
	at    Place
	made  int // tasks, where the runtime numbers them
	since int // messages of people since the last call
}

type planned struct {
	PlanItem
	id string
}

// isPlanTool reports whether a tool of this name keeps a list of things to do:
// TodoWrite, todowrite, write_todos, todo_write, update_todo_list, manage_todo_list,
// SetTodoList, update_plan, TaskCreate and so on.
func isPlanTool(tool string) bool {
	name := planName(tool)
	return strings.Contains(name, "todo") || slices.Contains([]string{"updateplan", "taskcreate", "taskupdate", "planwrite", "writeplan"}, name)
}

func planName(tool string) string {
	name := strings.ToLower(tool)
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	return strings.NewReplacer("_", "", "-", "", ".", "").Replace(name)
}

// call takes in a call of a plan tool, or of a tool that has a list beside its own
// arguments. It reports whether it understood one.
func (p *planner) call(tool string, raw []byte, at Place) bool {
	if len(raw) > maxPlanBytes {
		return false
	}
	if understood := p.take(tool, raw, at); !understood {
		return false
	}
	p.since = 0
	return true
}

func (p *planner) take(tool string, raw []byte, at Place) bool {
	var arguments any
	if json.Unmarshal(raw, &arguments) != nil {
		return false
	}
	if text, ok := arguments.(string); ok && json.Unmarshal([]byte(text), &arguments) != nil {
		arguments = text
	}
	object, _ := arguments.(map[string]any)
	switch planName(tool) {
	case "taskcreate":
		return p.create(object, at)
	case "taskupdate":
		return p.update(object, at)
	}
	items, found := itemsIn(arguments)
	if !found {
		return false
	}
	if merge, _ := object["merge"].(bool); merge {
		p.merge(items)
	} else {
		p.items = items
	}
	p.items = p.items[:min(len(p.items), maxPlanItems)]
	p.at = at
	return true
}

// create adds a task: Claude Code numbers them from 1.
func (p *planner) create(object map[string]any, at Place) bool {
	item, ok := itemOf(object)
	if !ok || len(p.items) >= maxPlanItems {
		return false
	}
	p.made++
	item.id = strconv.Itoa(p.made)
	p.items, p.at = append(p.items, item), at
	return true
}

// update changes the task that the call names.
func (p *planner) update(object map[string]any, at Place) bool {
	id := textIn(object, "taskId", "task_id", "id")
	i := slices.IndexFunc(p.items, func(item planned) bool { return item.id == id })
	if i < 0 {
		return false
	}
	p.at = at
	if textIn(object, "status") == "deleted" {
		p.items = slices.Delete(p.items, i, i+1)
		return true
	}
	p.merge([]planned{{PlanItem{textIn(object, "subject"), statusOf(object)}, id}})
	return true
}

// merge changes the items that have the ids of others, and adds those that are new.
func (p *planner) merge(items []planned) {
	for _, item := range items {
		i := slices.IndexFunc(p.items, func(known planned) bool { return known.id == item.id && item.id != "" })
		switch {
		case i < 0:
			p.items = append(p.items, item)
		case item.Text == "":
			p.items[i].Status = item.Status
		default:
			p.items[i].PlanItem = item.PlanItem
		}
	}
}

// itemsIn finds the items of a list in the arguments of a call: objects that have a
// text and how far it is, at any depth, or the lines of a checklist in Markdown. found
// is true for an empty list as well: the plan is given up.
func itemsIn(value any) (items []planned, found bool) {
	switch v := value.(type) {
	case string:
		items = checklist(v)
		return items, len(items) > 0
	case []any:
		for _, inner := range v {
			if more, ok := itemsIn(inner); ok {
				items = append(items, more...)
			}
		}
		return items, len(items) > 0 || len(v) == 0
	case map[string]any:
		if item, ok := itemOf(v); ok {
			return []planned{item}, true
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if more, ok := itemsIn(v[key]); ok {
				items, found = append(items, more...), true
			}
		}
	}
	return items, found
}

// itemOf reads one item. An object without a status is none, but for a new task.
func itemOf(object map[string]any) (item planned, ok bool) {
	item.Text = textIn(object, "content", "step", "subject", "title", "description", "task", "text", "name")
	item.Status, item.id = statusOf(object), textIn(object, "id")
	_, nested := object["tasks"]
	_, told := firstIn(object, "status", "state", "completed", "done", "activeForm", "active_form", "subject")
	if item.Text == "" && item.id == "" {
		return item, false
	}
	return item, told && !nested
}

func statusOf(object map[string]any) Status {
	value, _ := firstIn(object, "status", "state", "completed", "done")
	if done, ok := value.(bool); ok && done {
		return StatusCompleted
	}
	text, _ := value.(string)
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(text)) {
	case "completed", "complete", "done", "finished":
		return StatusCompleted
	case "inprogress", "doing", "active", "started":
		return StatusInProgress
	case "cancelled", "canceled", "abandoned", "dropped", "skipped":
		return StatusCancelled
	}
	return StatusPending
}

// checklist reads the items of a list in Markdown: "- [x] done", "- [ ] open".
func checklist(text string) (items []planned) {
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(strings.TrimSpace(line), "-*+0123456789.) ")
		if len(bare) < 4 || bare[0] != '[' || bare[2] != ']' {
			continue
		}
		status := StatusPending
		switch bare[1] {
		case 'x', 'X':
			status = StatusCompleted
		case '~', '/', '-', '>':
			status = StatusInProgress
		}
		if what := strings.TrimSpace(bare[3:]); what != "" {
			items = append(items, planned{PlanItem: PlanItem{what, status}})
		}
	}
	return items
}

// textIn returns the first of these members that is a text or a number.
func textIn(object map[string]any, keys ...string) string {
	for _, key := range keys {
		switch v := object[key].(type) {
		case string:
			if v = strings.TrimSpace(v); v != "" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}

func firstIn(object map[string]any, keys ...string) (value any, found bool) {
	for _, key := range keys {
		if v, ok := object[key]; ok {
			return v, true
		}
	}
	return nil, false
}

// plan is the list as it stands, nil if there never was one.
func (p *planner) plan() *Plan {
	if p.at == (Place{}) {
		return nil
	}
	plan := &Plan{Place: p.at, Items: []PlanItem{}, Since: p.since}
	for _, item := range p.items {
		plan.Items = append(plan.Items, PlanItem{Cut(Safe(item.Text), planRunes), item.Status})
	}
	return plan
}
