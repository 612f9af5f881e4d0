package e2e

import (
	"encoding/json"
	"testing"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// TestReal_K1_NamespaceDeclarationsPassTheCompiler has the compiler check what namespaces declare, and how programs use it.
func TestReal_K1_NamespaceDeclarationsPassTheCompiler(t *testing.T) {
	t.Parallel()
	plugin := func(owner, id, global, scope string) catalog.Namespace {
		return catalog.Namespace{
			Owner: owner, Scope: schemas.JSON(scope),
			Namespace: schemas.Namespace{ID: id, Global: global, Description: "*/ declare const evil: 1;", Prompt: "a\u2028b */", RequiredTools: []string{"find"}},
		}
	}
	built, problems := catalog.Build([]schemas.Tool{{
		Source: schemas.SourceNative, Owner: "shop", Name: "find", Description: "Finds. */ evil()",
		Parameters: schemas.JSON(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"},"class":{"enum":["a"]}},"required":["query"]}`),
		Output:     schemas.JSON(`{"type":"array","items":{"type":"string"}}`),
	}}, catalog.Options{Namespaces: []catalog.Namespace{
		plugin("shop", "1", "crm", `{
			"region":"eu","big":1e400,"minus":-1.5,"long":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"kinds":["a",null,{"b":true}],
			"find":{"$tool":"find"},"by":{"$tool":"find","input":{"limit":{"$arg":1},"query":{"$arg":0},"class":{"$arg":3}}},
			"fixed":{"$tool":"find","input":{"query":"x"}},"list":[{"$tool":"find"}],
			"new":{"$tool":"find"},"get":{"$tool":"find"},"readonly":{"$tool":"find"},"class":1,"`+"`${x}`"+`":2,"*/":{"\u2028":{}},"1a":3,"toString":4}`),
		plugin("shop", "2", "ünï$", `{}`), plugin("shop", "3", "of", `{"deep":{"er":{"find":{"$tool":"find","input":{"$arg":0}}}}}`),
	}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	files := map[string]string{"use.ts": `
		async function use() {
			const region: "eu" = namespaces.crm.region;
			const found: string[] = await crm.by("ada", undefined, 1, "a");
			await crm.by("ada"); await crm.fixed(); await crm.list[0]({ query: "x" }); await crm.new({ query: "x" }); await of.deep.er.find({ query: "" });
			// @ts-expect-error
			await crm.by();
			// @ts-expect-error
			await crm.by("ada", "many");
			// @ts-expect-error
			crm.region = "us";
			// @ts-expect-error
			await crm.find({ quary: "ada" });
			// @ts-expect-error
			evil;
			return [region, found, namespaces.of === of, crm["*/"], crm.minus, crm.kinds[2].b];
		}`}
	var list struct {
		OK struct{ Files []struct{ Path string } }
	}
	if err := json.Unmarshal(built.Sync("api.list", []byte(`{"prefix":"namespaces/"}`)), &list); err != nil || len(list.OK.Files) != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	for _, f := range list.OK.Files {
		var file struct{ OK struct{ Content string } }
		ask, _ := json.Marshal(f)
		if err := json.Unmarshal(built.Sync("api.read", ask), &file); err != nil || file.OK.Content == "" {
			t.Fatalf("%s: %v", f.Path, err)
		}
		files[f.Path] = file.OK.Content
	}
	compile(t, files)
}
