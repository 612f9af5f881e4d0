package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/titanous/json5"
)

// MaxConfigBytes is the longest configuration file that is read.
const MaxConfigBytes = 1 << 20

// LoadConfig reads and checks a configuration file; see [ParseConfig]. Relative paths in the file
// are taken from the file's folder.
func LoadConfig(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Code: InvalidInput, Message: "can't read the configuration: " + err.Error()}
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(limitReader(f)); err != nil {
		return nil, &Error{Code: InvalidInput, Message: "can't read the configuration: " + err.Error()}
	}
	c, err := ParseConfig(b.Bytes(), path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, &Error{Code: InvalidInput, Message: "can't find the configuration's folder: " + err.Error()}
	}
	c.rebase(dir)
	return c, nil
}

// ParseConfig reads a configuration in JSON5; name stands in front of messages. The error is an
// [*Error] with the first problem by position, and says how many more there are; [Check] lists
// all. Placeholders ${VAR}, ${VAR:-default} and ${env:VAR} in mcpServers and bus are replaced by
// the environment of the process, since users share these blocks and keep secrets out of them.
func ParseConfig(b []byte, name string) (*Config, error) {
	c, problems := parseConfig(b, name)
	switch len(problems) {
	case 0:
		return c, nil
	case 1:
		return nil, &problems[0]
	default:
		first := problems[0]
		first.Message += fmt.Sprintf(" (and %d more: see codecell config check)", len(problems)-1)
		return nil, &first
	}
}

// Check lists everything that is wrong with a configuration, by position in the text.
func Check(b []byte, name string) []Error {
	_, problems := parseConfig(b, name)
	return problems
}

func parseConfig(b []byte, name string) (*Config, []Error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if len(b) > MaxConfigBytes {
		return nil, []Error{*Refuse("", fmt.Sprintf("%s: a configuration has at most %d bytes", name, MaxConfigBytes))}
	}
	doc, err := decodeJSON5(b)
	if err != nil {
		return nil, []Error{syntaxError(b, name, err)}
	}
	p := &problems{name: name, where: locateKeys(b)}
	for _, d := range p.where.duplicates {
		p.add(d.path, "this key stands there twice: remove one")
	}
	root, ok := doc.(map[string]any)
	if !ok {
		p.add("", "expected an object: { … }")
		return nil, p.sorted()
	}
	finite(root)
	p.retired(root)
	p.servers(root)
	p.models(root)
	p.services(root)
	p.node(root)
	p.validate(root)
	if len(p.list) > 0 {
		return nil, p.sorted()
	}
	text, err := json.Marshal(root)
	if err != nil {
		p.add("", "can't be written as JSON: "+err.Error())
		return nil, p.sorted()
	}
	c := new(Config)
	if err := json.Unmarshal(text, c); err != nil {
		p.add("", err.Error())
		return nil, p.sorted()
	}
	p.expand(c)
	p.history(&c.History)
	if len(p.list) > 0 {
		return nil, p.sorted()
	}
	return c, nil
}

// decodeJSON5 reads any JSON5. A number beyond all others is infinite.
func decodeJSON5(b []byte) (doc any, err error) {
	err = json5.Unmarshal(b, &doc)
	if _, tooLarge := errors.AsType[*json5.UnmarshalTypeError](err); !tooLarge {
		return doc, err
	}
	d := json5.NewDecoder(bytes.NewReader(b)) // the syntax is right
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	return floats(doc), nil
}

// floats puts numbers in the place of their texts.
func floats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = floats(e)
		}
	case []any:
		for i, e := range v {
			v[i] = floats(e)
		}
	case json5.Number:
		text := string(v)
		if strings.ContainsAny(text, "xX") {
			text += "p0" // Go's hexadecimal numbers have an exponent
		}
		f, _ := strconv.ParseFloat(text, 64) // out of range is infinite
		return f
	}
	return v
}

// finite takes out what JSON can't say: NaN counts as not given, and an infinite number as one
// that is past every clamp (F2).
func finite(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if f, ok := e.(float64); ok && math.IsNaN(f) {
				delete(v, k)
			} else if ok && math.IsInf(f, 0) {
				v[k] = math.Copysign(math.MaxFloat64, f)
			} else {
				finite(e)
			}
		}
	case []any:
		for i, e := range v {
			if f, ok := e.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				v[i] = 0.0
			}
			finite(e)
		}
	}
}

func syntaxError(b []byte, name string, err error) Error {
	var syntax *json5.SyntaxError
	if !errors.As(err, &syntax) {
		return *Refuse("", name+": "+err.Error())
	}
	at := max(min(int(syntax.Offset), len(b))-1, 0)
	message := strings.ReplaceAll(syntax.Error(), "JSON input", "the file")
	if r, _ := utf8.DecodeRune(b[min(at, len(b)):]); r >= utf8.RuneSelf && (strings.Contains(message, "key") || strings.Contains(message, "looking for")) {
		message = fmt.Sprintf("unexpected character %q: outside of quotes only plain letters, digits, _ and $ can stand here", r)
	}
	return *Refuse("", fmt.Sprintf("%s:%s: %s", name, position(b, at), message))
}

// expand replaces placeholders where secrets and paths stand.
func (p *problems) expand(c *Config) {
	for server, s := range c.MCPServers {
		if !s.Disabled {
			s.expandAll(join("mcpServers", server), p.add)
			c.MCPServers[server] = s
		}
	}
	for field, text := range map[string]*string{
		"credentials": &c.Bus.Credentials, "token": &c.Bus.Token, "user": &c.Bus.User, "password": &c.Bus.Password,
	} {
		out, unset := expand(*text, os.LookupEnv)
		if unset != "" {
			p.add(join("bus", field), "the environment variable "+unset+" isn't set")
		}
		*text = out
	}
}

// rebase makes paths absolute: "~" is the home folder, other relative ones start at dir.
func (c *Config) rebase(dir string) {
	for _, path := range []*string{&c.Workspace.Root, &c.Bus.StoreDir, &c.Bus.Credentials, &c.Node.Key} {
		*path = absolute(*path, dir)
	}
	for i, folder := range c.Skills.Folders {
		c.Skills.Folders[i] = absolute(folder, dir)
	}
	for name, s := range c.MCPServers {
		s.Cwd = absolute(s.Cwd, dir)
		c.MCPServers[name] = s
	}
	for name, folder := range c.Node.Folders {
		c.Node.Folders[name] = absolute(folder, dir)
	}
	for name, command := range c.Node.Commands {
		command.Cwd = absolute(command.Cwd, dir)
		c.Node.Commands[name] = command
	}
}

func absolute(path, dir string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return filepath.Join(dir, path)
}
