package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// npmServers are public MCP servers among the packages of e2e, and their arguments.
var npmServers = map[string][]string{
	"everything": {"@modelcontextprotocol/server-everything/dist/index.js"},
	"files":      {"@modelcontextprotocol/server-filesystem/dist/index.js", "."},
	"memory":     {"@modelcontextprotocol/server-memory/dist/index.js"},
	"thinking":   {"@modelcontextprotocol/server-sequential-thinking/dist/index.js"},
	"web":        {"@playwright/mcp/cli.js", "--headless", "--isolated"},
}

// npmQueries are what one might ask of them.
var npmQueries = []query{
	{Query: "repeat my words back to me", Gold: []string{"everything/echo"}},
	{Query: "add two numbers", Gold: []string{"everything/get-sum"}},
	{Query: "show a tiny test picture", Gold: []string{"everything/get-tiny-image"}},
	{Query: "what is in this folder?", Gold: []string{"files/list_directory"}},
	{Query: "how large is the file, and when was it changed?", Gold: []string{"files/get_file_info"}},
	{Query: "rename a file", Gold: []string{"files/move_file"}},
	{Query: "replace a line of a text file", Gold: []string{"files/edit_file"}},
	{Query: "remember that Ada works for the Analytical Society", Gold: []string{"memory/create_relations"}},
	{Query: "forget everything about a person", Gold: []string{"memory/delete_entities"}},
	{Query: "read the whole knowledge graph", Gold: []string{"memory/read_graph"}},
	{Query: "think it through step by step", Gold: []string{"thinking/sequentialthinking"}},
	{Query: "open this web page", Gold: []string{"web/browser_navigate"}},
	{Query: "take a screenshot of the page", Gold: []string{"web/browser_take_screenshot"}},
	{Query: "press the button on the page", Gold: []string{"web/browser_click"}},
	{Query: "which requests did the page make?", Gold: []string{"web/browser_network_requests"}},
}

// listNPM asks the servers for their tools.
func listNPM(ctx context.Context, modules string) (*collection, error) {
	c := &collection{name: "npm servers", queries: npmQueries}
	for name, args := range npmServers {
		entries, err := listServer(ctx, name, modules, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w (run `make setup`)", name, err)
		}
		c.entries = append(c.entries, entries...)
	}
	return c, nil
}

func listServer(ctx context.Context, name, modules string, args []string) (all []entry, err error) {
	args = append([]string{filepath.Join(modules, filepath.FromSlash(args[0]))}, args[1:]...)
	client := mcp.NewClient(&mcp.Implementation{Name: "surfaces", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.CommandContext(ctx, "node", args...)}, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		parameters, err := json.Marshal(t.InputSchema)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{ID: name + "/" + t.Name, Server: name, Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	return all, nil
}
