package schemas_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func surfaceOf(mode schemas.Mode, control, others string) schemas.Surface {
	s := schemas.Surface{Mode: mode}
	for name := range strings.FieldsSeq(control) {
		s.Tools = append(s.Tools, schemas.SurfaceTool{Name: name, Control: true})
	}
	for name := range strings.FieldsSeq(others) {
		s.Tools = append(s.Tools, schemas.SurfaceTool{Name: name, Direct: true})
	}
	return s
}

func TestSpec_L2_DispatchActionIsToolCall(t *testing.T) {
	search := schemas.Surface{Tools: []schemas.SurfaceTool{{Name: schemas.ToolCallTool, Control: true, Direct: true}}}
	if tool, ok := search.Callable(schemas.DispatchAction); !ok || tool.Name != schemas.ToolCallTool {
		t.Errorf("%v, %v", tool, ok)
	}
	if err := search.CheckPayload([]string{schemas.ToolCallTool, schemas.DispatchAction}); err == nil {
		t.Error("a payload shows the other name too")
	}
	plugin := schemas.Surface{Tools: []schemas.SurfaceTool{{Name: schemas.ToolCallTool, Direct: true}}}
	if tool, ok := plugin.Callable(schemas.DispatchAction); ok || tool != nil {
		t.Error("a plugin's tool has another name too")
	}
}

func TestSpec_A4_CheckPayload(t *testing.T) {
	code := surfaceOf(schemas.ModeCode, "exec wait", "message computer")
	direct := surfaceOf(schemas.ModeDirect, "", "read write")
	for _, tc := range []struct {
		surface        schemas.Surface
		payload, words string
	}{
		{code, "exec wait", ""},
		{code, "wait exec message", ""},
		{code, "exec message wait computer", ""},
		{code, "", `"exec" is missing`},
		{code, "exec", `"wait" is missing`},
		{code, "wait", `"exec" is missing`},
		{code, "exec exec wait", `"exec" is in it twice`},
		{code, "exec wait wait", `"wait" is in it twice`},
		{code, "exec wait message message", `"message" is in it twice`},
		{code, "exec wait read", `"read" may not be in it`},
		{code, "Exec wait", `"Exec" may not be in it`},
		{direct, "read write", ""},
		{direct, "", ""},
		{direct, "exec", `"exec" may not be in it`},
	} {
		err := tc.surface.CheckPayload(strings.Fields(tc.payload))
		if tc.words == "" {
			if err != nil {
				t.Errorf("%q: %v", tc.payload, err)
			}
			continue
		}
		if !errors.Is(err, schemas.RuntimeUnavailable) || !strings.Contains(err.Error(), tc.words) {
			t.Errorf("%q: %v, want %s", tc.payload, err, tc.words)
		}
	}
}
