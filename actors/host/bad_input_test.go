package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

// prompt bounds what must be refused at once. It is far more than that takes: the machine may be busy.
const prompt = 15 * time.Second

// A tool that returns 50 MB, or more than may travel at all: the call rejects and says why, and the next one is as good as any (O4).
func TestSpec_O4_U6_AToolThatReturnsTooMuch(t *testing.T) {
	big := func(name string, megabytes int) tool.Func {
		return tool.Raw(schemas.Tool{Name: name}, func(context.Context, schemas.JSON) (schemas.JSON, error) {
			return schemas.JSON(`"` + strings.Repeat("x", megabytes<<20) + `"`), nil
		})
	}
	n := node(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 60000}}}`), big("fifty", 50), big("hundred", 100), big("five", 5))
	run := open(t, n, "a")
	begun := time.Now()
	mustComplete(t, exec(t, run, `
		const failed = async (call) => { try { return (await call).length } catch (e) { return [e.code, e.effectStatus, /too large|bytes|limit/.test(e.message) && !e.message.includes("codecell.")] } };
		return [await failed(fifty({})), await failed(hundred({})), await failed(five({})), (await echo({ n: 7 })).n]`),
		`[["tool_error","done",true],["tool_error","done",true],5242880,7]`)
	if took := time.Since(begun); took > 3*prompt {
		t.Errorf("it took %v", took)
	}
}

// A schema with 10,000 properties, each with a long description.
func TestSpec_M4_P5_ATooLargeSchema(t *testing.T) {
	var wide strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&wide, `"property%d":{"type":"integer","description":"one of many"},`, i)
	}
	schema := `{"type":"object","required":["property9999"],"additionalProperties":false,"properties":{` + strings.TrimSuffix(wide.String(), ",") + `}}`
	n := node(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 60000}}}`),
		tool.Raw(schemas.Tool{Name: "wide", Description: "Takes much", Parameters: schemas.JSON(schema)}, func(_ context.Context, in schemas.JSON) (schemas.JSON, error) {
			return in, nil
		}))
	run := open(t, n, "a")
	begun := time.Now()
	mustComplete(t, exec(t, run, `
		const failed = async (input) => { try { return await wide(input) } catch (e) { return [e.code, e.effectStatus, e.message.length < 1000, e.message.includes("property9998")] } };
		const [found] = await catalog.search("property1876");
		const described = await wide.describe();
		return [wide.input.length < 1000, API.read("tools/wide.d.ts").content.length < 2000000, Object.keys(described.parameters.properties).length,
			found.callableName, await failed({ property9999: 1 }), await failed({ property9999: 1, propety9998: 2 })]`),
		`[true,true,10000,"wide",{"property9999":1},["input_contract","not_started",true,true]]`)
	if took := time.Since(begun); took > 2*prompt {
		t.Errorf("it took %v", took)
	}
}

// A declaration request for what is no file of the catalog, in every spelling (G3).
func TestSpec_G3_PathsThatLeadOut(t *testing.T) {
	n := node(t, nil)
	mustComplete(t, exec(t, open(t, n, "a"), `
		const read = [];
		for (const path of ["../x", "..", ".", "", "/", "tools/../x", "tools/./echo.d.ts", "./tools/echo.d.ts", "tools//echo.d.ts", "tools\\echo.d.ts", "TOOLS/ECHO.D.TS",
			"tools/echo.d.ts/", "tools/echo.d.ts\0", "%2e%2e/x", "mcp/index.d.ts", "__proto__", "x".repeat(1000000), null, undefined, {}, ["tools/echo.d.ts"], 7]) {
			try { API.read(path); read.push(String(path)) } catch (e) {
				if (!(e instanceof Error) || e.message.length > 500 || /\.go\b/.test(e.message)) read.push(e.message);
			}
		}
		return [read, API.read("tools/echo.d.ts").path]`), `[[],"tools/echo.d.ts"]`)
}

// A handle of a tool that is gone rejects at once, also one that was parked over it (Case 63, M7).
func TestSpec_M7_Case63_AHandleOfAToolThatIsGone(t *testing.T) {
	n := node(t, config(t, `{tools: {codeMode: true}}`))
	executor, err := tool.Serve(t.Context(), n.Conn(), "visitor", named("passing"))
	if err != nil {
		t.Fatal(err)
	}
	defer executor.Close(t.Context())
	run := open(t, n, "a")
	eventually(t, run, `return typeof passing`, `"function"`)
	first := exec(t, run, `
		const [handle] = await catalog.search("passing");
		const before = await handle({});
		await yield_control();
		const failed = async (call) => { try { return await call } catch (e) { return [e instanceof Error, e.code, e.effectStatus] } };
		return [before, await failed(handle({})), await failed(passing({})), handle.callableName, (await handle.describe()).name]`)
	mustWait(t, first, schemas.ReasonYield)
	if err := executor.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	mustComplete(t, wait(t, n, "a", "w", first.RunID),
		`["passing",[true,"tool_error","not_started"],[true,"tool_error","not_started"],"passing","passing"]`)
	if took := time.Since(begun); took > prompt {
		t.Errorf("it took %v", took)
	}
	eventually(t, run, `return typeof passing`, `"undefined"`)
}
