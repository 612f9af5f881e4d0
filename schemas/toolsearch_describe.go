package schemas

import "fmt"

// ToolDescribeInput is what tool_describe was asked for: 1 to [MaxToolDescribe] tools. Batch: they were given as a list.
type ToolDescribeInput struct {
	Tools []ToolSelector
	Batch bool
}

// ParseToolDescribeInput checks the input of tool_describe: {id}, {name} or {ids}.
func ParseToolDescribeInput(input JSON) (ToolDescribeInput, *Error) {
	var in ToolDescribeInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	if err := f.known([]string{"id", "toolId", "name", "ids"}); err != nil {
		return in, err
	}
	one, err := f.selector()
	if err != nil {
		return in, err
	}
	if !one.blank() {
		in.Tools = append(in.Tools, one)
	}
	list, given := f["ids"]
	items, ok := list.([]any)
	if given && !ok {
		return in, Refuse("ids", "ids: expected an array of ids, got "+kindOf(list))
	}
	in.Batch = given
	for i, item := range items {
		id, ok := item.(string)
		if !ok || id == "" {
			at := fmt.Sprintf("ids[%d]", i)
			return in, Refuse(at, at+": expected a string: "+selectorHelp)
		}
		in.Tools = append(in.Tools, ToolSelector{ID: id})
	}
	switch n := len(in.Tools); {
	case n == 0:
		return in, Refuse("id", "id: "+selectorHelp)
	case n > MaxToolDescribe:
		return in, Refuse("ids", fmt.Sprintf("ids: at most %d tools at once, got %d", MaxToolDescribe, n))
	}
	return in, nil
}
