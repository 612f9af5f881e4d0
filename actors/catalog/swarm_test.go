package catalog

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// swarmTools are codecell's own.
func swarmTools() []schemas.Tool {
	var tools []schemas.Tool
	for _, name := range []string{schemas.SpawnTool, schemas.AwaitTool} {
		t := native(schemas.SwarmOwner, name)
		t.Tier = schemas.TierCore
		tools = append(tools, t)
	}
	return tools
}

// The globals are there if the swarm is on and both native tools of codecell's own are in the catalog.
func TestSpec_G10_WhatTheGlobalsNeed(t *testing.T) {
	own := swarmTools()
	plugin := native(schemas.SwarmOwner, schemas.AwaitTool)
	plugin.Tier = schemas.TierPlugin
	for name, tt := range map[string]struct {
		tools    []schemas.Tool
		off      bool
		contract string
		want     bool
	}{
		"the tools":                  {tools: own, want: true},
		"switched off":               {tools: own, off: true},
		"one is missing":             {tools: own[:1]},
		"another owner's":            {tools: []schemas.Tool{own[0], native("core", schemas.AwaitTool)}},
		"a plugin's":                 {tools: []schemas.Tool{own[0], plugin}},
		"a server's":                 {tools: []schemas.Tool{mcp(schemas.SwarmOwner, schemas.SpawnTool), own[1]}},
		"a client's in its place":    {tools: append(swarmTools(), client(schemas.SpawnTool))},
		"beside one of a server":     {tools: append(swarmTools(), mcp("x", schemas.SpawnTool)), want: true},
		"the older contract":         {tools: own, contract: schemas.Contract202607},
		"for programs of the search": {tools: own, contract: ContractToolSearch},
	} {
		t.Run(name, func(t *testing.T) {
			tools := slices.Concat(tt.tools, []schemas.Tool{native("p", "log"), native("p", "phase"), native("p", "agents")})
			c, _ := Build(tools, Options{Contract: tt.contract, Features: Features{Swarm: !tt.off}})
			if c.Swarm() != tt.want || bytes.Contains(c.Install(), []byte(`"agents":{"spawn":`)) != tt.want {
				t.Errorf("there is a swarm: %v", c.Swarm())
			}
			if tt.contract != "" {
				return
			}
			for _, name := range []string{"log", "phase", "agents"} {
				if _, kept := c.Lookup(name); kept == tt.want {
					t.Errorf("a tool is called %s: %v", name, kept)
				}
			}
			told := strings.Count(c.ExecDescription(schemas.DefaultLimits(), 0), "agents.run")
			if files, _ := c.files().list(agentsPath); told > 1 || (told == 1) != tt.want || (len(files) == 1) != tt.want {
				t.Errorf("told %d times, %d files", told, len(files))
			}
			if bytes.Contains(c.InstallRestricted(), []byte(`"agents":{`)) {
				t.Error("restricted runs have it")
			}
		})
	}
}

// Without the swarm nothing of a catalog has changed; with it, restricted runs have the same names, and equal bytes each time.
func TestSpec_G10_A5_Bytes(t *testing.T) {
	build := func(on bool) *Catalog {
		c, _ := Build(append(swarmTools(), native("p", "log")), Options{Features: Features{Swarm: on}})
		return c
	}
	off, on := build(false), build(true)
	if !bytes.Equal(off.Install(), off.InstallRestricted()) {
		t.Error("a catalog without a swarm has two texts")
	}
	if !bytes.Equal(on.InstallRestricted(), build(true).InstallRestricted()) || bytes.Equal(on.Install(), on.InstallRestricted()) {
		t.Error("the text for restricted runs isn't the same each time, or is that of others")
	}
	if on.Version() == off.Version() {
		t.Error("the catalogs look alike")
	}
}
