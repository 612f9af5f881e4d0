package schemas

// lacking looks in a decoded value for something that [filler] may have to add. It is cheaper than to
// try, and errs on that side: what it says no to, nothing can be added to.
type lacking struct {
	filler
	steps int
}

// maxLackingSteps is where looking costs as much as trying.
const maxLackingSteps = 1000

func newLacking(doc any) *lacking { return &lacking{filler: filler{doc: doc}, steps: maxLackingSteps} }

func (l *lacking) any(schema, v any) bool {
	if l.steps--; l.steps < 0 {
		return true
	}
	obj, _ := schema.(map[string]any)
	switch v := v.(type) {
	case map[string]any:
		props, _ := obj["properties"].(map[string]any)
		for name, sub := range props {
			if have, ok := v[name]; ok {
				if l.any(sub, have) {
					return true
				}
			} else if _, ok := l.defaultOf(sub); ok {
				return true
			}
		}
	case []any:
		if item, ok := obj["items"].(map[string]any); ok {
			for _, e := range v {
				if l.any(item, e) {
					return true
				}
			}
		}
	default:
		return false
	}
	if ref, ok := obj["$ref"].(string); ok && l.any(l.local(ref), v) {
		return true
	}
	all, _ := obj["allOf"].([]any)
	for _, sub := range all {
		if l.any(sub, v) {
			return true
		}
	}
	return false
}
