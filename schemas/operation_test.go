package schemas_test

import (
	"slices"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_M3_OperationsFollowTheCapabilities(t *testing.T) {
	for _, c := range []struct {
		info schemas.ServerInfo
		want []string
	}{
		{schemas.ServerInfo{Title: "has neither"}, nil},
		{schemas.ServerInfo{Resources: true}, []string{schemas.ListResources, schemas.ReadResource}},
		{schemas.ServerInfo{Prompts: true}, []string{schemas.ListPrompts, schemas.GetPrompt}},
		{schemas.ServerInfo{Resources: true, Prompts: true}, []string{"$resources.list", "$resources.read", "$prompts.list", "$prompts.get"}},
	} {
		var got []string
		for _, o := range c.info.Operations("docs") {
			got = append(got, o.Name)
			if o.Source != schemas.SourceMCP || o.Owner != "docs" || o.Tier != schemas.TierMCP || !schemas.IsOperation(o.Name) {
				t.Errorf("%+v", o)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c.info, got)
		}
	}
}

func TestSpec_M3_OperationsCheckTheirInput(t *testing.T) {
	inputs := map[string]*schemas.Schema{}
	for _, o := range (schemas.ServerInfo{Resources: true, Prompts: true}).Operations("docs") {
		s, err := schemas.Compile(o.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		inputs[o.Name] = s
	}
	for _, c := range []struct {
		name, args string
		fits       bool
	}{
		{schemas.ListResources, `{}`, true},
		{schemas.ListResources, `{"cursor":"x"}`, false},
		{schemas.ReadResource, `{"uri":"file:///a"}`, true},
		{schemas.ReadResource, `{}`, false},
		{schemas.ReadResource, `{"uri":7}`, false},
		{schemas.ReadResource, `{"uri":"a","url":"b"}`, false},
		{schemas.GetPrompt, `{"name":"p"}`, true},
		{schemas.GetPrompt, `{"name":"p","arguments":{"a":"1","__proto__":"2"}}`, true},
		{schemas.GetPrompt, `{"name":"p","arguments":{"a":1}}`, false},
		{schemas.GetPrompt, `{"arguments":{}}`, false},
	} {
		if bad := inputs[c.name].Validate(schemas.JSON(c.args)); (len(bad) == 0) != c.fits {
			t.Errorf("%s %s: %v", c.name, c.args, bad)
		}
	}
}

func TestSpec_M3_OperationNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"$resources.list": {"resources", "list"}, "$prompts.get": {"prompts", "get"}, "$resources.templates.list": {"resources", "templates.list"},
		"resources.list": {}, "$resources": {}, "$api": {}, "$Resources.list": {}, "": {},
	} {
		group, member, ok := schemas.SplitOperation(name)
		if ok != (want[0] != "") || group != want[0] || member != want[1] || schemas.IsOperation(name) != ok {
			t.Errorf("%s: %q %q %v", name, group, member, ok)
		}
	}
}

// A server's entry that lists its tools lists all that may be used of the server.
func TestSpec_F4_AServersEntryCountsOperationsAsTools(t *testing.T) {
	for _, c := range []struct {
		entry schemas.MCPServer
		want  bool
	}{
		{schemas.MCPServer{}, true},
		{schemas.MCPServer{Disabled: true}, false},
		{schemas.MCPServer{IncludeTools: []string{}}, false},
		{schemas.MCPServer{IncludeTools: []string{"other"}}, false},
		{schemas.MCPServer{IncludeTools: []string{"$resources.read"}}, true},
		{schemas.MCPServer{ExcludeTools: []string{"$resources.read"}}, false},
		{schemas.MCPServer{ExcludeTools: []string{"$resources.list"}}, true},
	} {
		if got := c.entry.Offers(schemas.ReadResource); got != c.want {
			t.Errorf("%+v: %v", c.entry, got)
		}
	}
}
