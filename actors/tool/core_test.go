package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// folder makes a workspace of files.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// coreTools are the core tools of a folder with their contracts, as an executor has them.
type coreTools struct {
	Provider
	made contracts
}

// coreOf opens the core tools on a folder.
func coreOf(t testing.TB, dir string, names ...string) *coreTools {
	t.Helper()
	p, err := Core(CoreOptions{Root: dir, Tools: names})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	made, problems := compileOffer(p.Offer(), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &coreTools{p, made}
}

// use runs one core tool that reads.
func use(t testing.TB, p *coreTools, tool string, args any) (page, error) {
	t.Helper()
	return do[page](t, p, tool, args)
}

// useAs runs a call of a core tool through the pipeline.
func useAs(ctx context.Context, p *coreTools, call *schemas.Call) (schemas.JSON, error) {
	var pipe Pipeline
	value, fail := pipe.run(ctx, call, p.made[call.Tool], func(ctx context.Context, call *schemas.Call) (schemas.JSON, error) {
		return p.Call(ctx, call, nil)
	}, nil, quiet)
	if fail != nil {
		return nil, fail
	}
	return value, nil
}

type in map[string]any

// next gives the arguments of the next page as programs write them: {...args, ...continuation}.
func next(t testing.TB, args in, c *continuation) in {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	args = maps.Clone(args)
	delete(args, "offset")
	delete(args, "cursor")
	if err := json.Unmarshal(text, &args); err != nil {
		t.Fatal(err)
	}
	return args
}

func TestCore_NamedToolsOnly(t *testing.T) {
	p, err := Core(CoreOptions{Root: t.TempDir(), Tools: []string{"read", "ls"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	offer := p.Offer()
	if offer.Owner != CoreOwner || len(offer.Tools) != 2 {
		t.Errorf("%+v", offer)
	}
	for _, tool := range offer.Tools {
		if !tool.ReplaySafe || tool.Tier != schemas.TierCore || tool.Source != schemas.SourceNative || len(tool.Output) == 0 {
			t.Errorf("%+v", tool)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, tool.Parameters); err != nil {
			t.Error(err)
		}
	}
	if _, err := Core(CoreOptions{Root: t.TempDir(), Tools: []string{"remove"}}); err == nil {
		t.Error("an unknown tool is taken")
	}
	if _, err := Core(CoreOptions{Root: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing folder is taken")
	}
}
