package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/codecell/codecell/schemas"
)

// nodeStatus is what a node tells of its machine: nothing by which it could be found.
type nodeStatus struct {
	Platform string `json:"platform"`
	Arch     string `json:"arch"`
	CPUs     int    `json:"cpus"`
	// UptimeSeconds is the machine's, if it is known; NodeUptimeSeconds the node's.
	UptimeSeconds     int64  `json:"uptimeSeconds,omitempty"`
	NodeUptimeSeconds int64  `json:"nodeUptimeSeconds"`
	Version           string `json:"version,omitempty"`
}

func (n *Node) statusCommand() nodeCommand {
	return nodeCommand{
		NodeCommand: schemas.NodeCommand{
			Name: schemas.NodeStatusCommand, Description: "Platform, processors and uptime of the machine.",
			Params: schemas.JSON(`{"type":"object","properties":{},"additionalProperties":false}`),
		},
		run: func(context.Context, schemas.JSON) (any, error) {
			return &nodeStatus{
				Platform: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), UptimeSeconds: machineUptime(),
				NodeUptimeSeconds: int64(time.Since(n.begun).Seconds()), Version: n.version,
			}, nil
		},
	}
}

// machineUptime is 0 where the system doesn't tell it in a file.
func machineUptime() int64 {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, _ := strconv.ParseFloat(strings.TrimSpace(first), 64)
	return int64(seconds)
}

// programResult is how a program ended.
type programResult struct {
	shellState

	Output string `json:"output"`
	// Truncated: the middle of the output is left out. Bytes is the length of all of it.
	Truncated bool  `json:"truncated,omitempty"`
	Bytes     int64 `json:"bytes"`
}

// programCommand is a configured program. It runs in a process group of its own, without a shell and without input.
func (n *Node) programCommand(name string, c schemas.NodeCommandConfig) nodeCommand {
	params := c.Params
	if len(params) == 0 {
		params = schemas.JSON(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return nodeCommand{
		NodeCommand: schemas.NodeCommand{Name: name, Description: c.Description, Params: params},
		run: func(ctx context.Context, params schemas.JSON) (any, error) {
			args, err := fillArgs(c.Args, params)
			if err != nil {
				return nil, err
			}
			s := &shell{argv: append([]string{c.Command}, args...), over: make(chan struct{})}
			if err := s.start(n.env, c.Cwd, "", false, c.Timeout()); err != nil {
				n.log.Warn("a program could not be started", "command", name, "error", err)
				return nil, refused(schemas.CallToolError, atTool, "%s could not be started: see the log of the node", name)
			}
			select {
			case <-s.over:
			case <-ctx.Done():
				s.stop(whyCancelled)
				<-s.over
				return nil, ctx.Err()
			}
			p, truncated := s.out.excerpt()
			return &programResult{shellState: s.now(), Output: p.text, Truncated: truncated, Bytes: p.total}, nil
		},
	}
}

// fillArgs puts parameters into a program's arguments. One that is given as a whole and is absent is left out. What a
// text brings along must not become an option: it may begin with a dash only behind other text, or behind "--".
func fillArgs(templates []string, params schemas.JSON) ([]string, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(params, &values); err != nil {
		return nil, refused(schemas.CallInputContract, atInput, "the parameters don't fit: %v", err)
	}
	args, operands := make([]string, 0, len(templates)), false
	for _, template := range templates {
		var bad error
		missing := false
		arg := schemas.Placeholder.ReplaceAllStringFunc(template, func(m string) string {
			name := m[2 : len(m)-2]
			text, ok, err := paramText(name, values[name])
			if err != nil && bad == nil {
				bad = err
			}
			missing = missing || !ok
			if strings.HasPrefix(text, "-") && strings.HasPrefix(template, m) && !operands && !isNumber(values[name]) && bad == nil {
				bad = refused(schemas.CallInputContract, atInput, "params.%s: expected a text that doesn't begin with \"-\"", name)
			}
			return text
		})
		if bad != nil {
			return nil, bad
		}
		if missing && schemas.Placeholder.FindString(template) == template {
			continue
		}
		operands = operands || template == "--"
		args = append(args, arg)
	}
	return args, nil
}

// paramText is a parameter as a part of an argument. Not ok: it's absent, or null.
func paramText(name string, value json.RawMessage) (text string, ok bool, err error) {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0 || value[0] == 'n':
		return "", false, nil
	case value[0] == '"':
		if err := json.Unmarshal(value, &text); err != nil {
			return "", false, fmt.Errorf("params.%s: %w", name, err)
		}
		if strings.ContainsRune(text, 0) {
			return "", false, refused(schemas.CallInputContract, atInput, "params.%s: a NUL character can't be in an argument", name)
		}
		if len(text) > maxCommandBytes {
			return "", false, refused(schemas.CallInputContract, atInput, "params.%s: expected at most %d bytes", name, maxCommandBytes)
		}
		return text, true, nil
	}
	return string(value), true, nil // anything else as JSON
}

func isNumber(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9')
}
