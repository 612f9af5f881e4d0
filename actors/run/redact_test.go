package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

func redactor(t testing.TB, history schemas.HistoryConfig) *Redactor {
	t.Helper()
	r, err := NewRedactor(&schemas.Config{History: history})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSpec_P8_MasksCredentialLiterals(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{})
	for _, c := range []struct{ source, want string }{
		// Declarations, assignments, defaults, properties, fields.
		{`const apiKey = "abc";`, `const apiKey = "[redacted]";`},
		{`let token = 'abc'`, `let token = '[redacted]'`},
		{"var db_password2 = `abc`", "var db_password2 = `[redacted]`"},
		{`const API_KEY_PROD = "abc"`, `const API_KEY_PROD = "[redacted]"`},
		{`const OPENAI_API_KEY = "abc"`, `const OPENAI_API_KEY = "[redacted]"`},
		{`const pin = 12345`, `const pin = "[redacted]"`},
		{`session.secret = "abc"`, `session.secret = "[redacted]"`},
		{`env["CLIENT_SECRET"] = "abc"`, `env["CLIENT_SECRET"] = "[redacted]"`},
		{`token ??= "abc"; token += "def"`, `token ??= "[redacted]"; token += "[redacted]"`},
		{`call({user: "me", password: "abc"})`, `call({user: "me", password: "[redacted]"})`},
		{`call({"x-api-key": "abc", ["Authorization"]: "abc"})`, `call({"x-api-key": "[redacted]", ["Authorization"]: "[redacted]"})`},
		{`function f(token = "abc", n = "d") {}`, `function f(token = "[redacted]", n = "d") {}`},
		{`const {token = "abc", x: secret = "def", password: p = "ghi"} = o`, `const {token = "[redacted]", x: secret = "[redacted]", password: p = "[redacted]"} = o`},
		{`({token = "abc"} = o)`, `({token = "[redacted]"} = o)`},
		{`class A { #token = "abc"; static apiKey = 'def'; other = "x" }`, `class A { #token = "[redacted]"; static apiKey = '[redacted]'; other = "x" }`},
		{`const \u0074oken = "abc"`, `const \u0074oken = "[redacted]"`},
		// What a value may come to.
		{`const token = given || "abc"`, `const token = given || "[redacted]"`},
		{`const token = ok ? "abc" : ("def")`, `const token = ok ? "[redacted]" : ("[redacted]")`},
		{`const secret = "abc" + "def"`, `const secret = "[redacted]" + "[redacted]"`},
		{`const secret = " abc ".trim()`, `const secret = "[redacted]".trim()`},
		{"const auth = {token: `abcdefgh${x}ijklmnop`}", "const auth = {token: `[redacted]${x}[redacted]`}"},
		// Headers.
		{`call({headers: [["Authorization", "abc"], ["accept", "text/html"]]})`, `call({headers: [["Authorization", "[redacted]"], ["accept", "text/html"]]})`},
		{`call({headers: [{name: "X-Auth-Token", value: "abc"}]})`, `call({headers: [{name: "X-Auth-Token", value: "[redacted]"}]})`},
		{`headers.set("authorization", "abc")`, `headers.set("authorization", "[redacted]")`},
		{`const credentials = {user: "me", word: "abc"}`, `const credentials = {user: "[redacted]", word: "[redacted]"}`},
		// What strings tell.
		{`sh("curl -H 'Authorization: Bearer abc123' https://x")`, `sh("curl -H 'Authorization: [redacted]' https://x")`},
		{`sh("login --password=hunter2 --user=me")`, `sh("login --password=[redacted] --user=me")`},
		{`post('{"token":"hunter2","n":1}')`, `post('{"token":"[redacted]","n":1}')`},
		{"get(`https://x/?api_key=k3yk3yk3y&page=${n}`)", "get(`https://x/?api_key=[redacted]&page=${n}`)"},
		// Lines hold.
		{"const secret = `a\nb\r\nc`; f()", "const secret = `[redacted]\n\r\n`; f()"},
		{"const secret = \"a\\\nb\"; f()", "const secret = \"[redacted]\\\n\"; f()"},
		// Nothing that a person can read in a comment.
		{"// const token = 'abc'\nf()", "// const token = '[redacted]'\nf()"},
		// A fence that a model put around its program.
		{"```js\nconst token = \"abc\"\nreturn `a`\n```\n", "```js\nconst token = \"[redacted]\"\nreturn `a`\n```\n"},
		{"\n````\nsecret = `abc`\n````", "\n````\nsecret = `[redacted]`\n````"},
		// A program that isn't one.
		{`const token: string | null = "abc"`, `const token: string | null = "[redacted]"`},
		{`const token = "abc" ) {`, `const token = "[redacted]" ) {`},
		{"{ token: `a\nb`, password: 'c\\'d' )", "{ token: `[redacted]\n`, password: '[redacted]' )"},
	} {
		if got := r.Source(c.source); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.source, got, c.want)
		}
	}
}

func TestSpec_P8_KeepsWhatIsNoCredential(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{})
	for _, source := range []string{
		`const token = await getToken()`,
		`const token = await getToken("service", 12345)`,
		`const apiKey = process.env.API_KEY`,
		"const token = `Bearer ${await login()}`",
		`const password = prefix + "-" + name`,
		`let token = null, secret = undefined, password = true, apiKey = ""`,
		`call({headers: {Authorization: "Bearer " + token}})`,
		`call({credentials: "include", maxTokens: 4096, max_tokens: 1024})`,
		`const tokenCount = "5", tokenizer = "bpe", secretName = "db", apiKeyId = "7", compass = "north"`,
		`if (token === "none" || typeof token == "string") f("token", "x")`,
		`const {password} = await ask({question: "which one?"})`,
		`list({nextPageToken: "p2", pageToken: "p3"})`,
		`const schema = {password: {type: "string"}, required: ["password"]}`,
		`const basic = "a basic explanation of the bearer authentication"`,
		`const url = "https://user@example.com:8080/path"`,
		`const re = /token="[^"]*"/g; re.test(text)`,
		"const sql = `select token from t where x = ${y}`",
	} {
		if got := r.Source(source); got != source {
			t.Errorf("%s\n got %s", source, got)
		}
	}
}

// Usage that a provider tells is no credential, though it counts tokens.
func TestSpec_P7_ShowsCountsOfTokens(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{})
	const usage = `{"prompt_tokens":114912,"completion_tokens":5123,"total_tokens":120035,"prompt_tokens_details":{"cached_tokens":110000}}`
	if got := r.Text(usage); got != usage {
		t.Errorf("got %s", got)
	}
	if got := r.Text(`{"tokens":"abc123def456","input_token":"abc123def456"}`); got != `{"tokens":"[redacted]","input_token":"[redacted]"}` {
		t.Errorf("got %s", got)
	}
}

func TestSpec_P8_MasksKnownFormsAnywhere(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{Secrets: []string{"s3cr\"et\nline", "plain-secret", "plain-secret-longer"}, Patterns: []string{`CUST-\d+`}})
	for _, c := range []struct{ source, want string }{
		{`f("sk-abcdefghijklmnop0123")`, `f("[redacted]")`},
		{`f(/ghp_abcdefghijklmnopqrst0123/)`, `f(/[redacted]/)`},
		{"// github_pat_11ABCDEFG0123456789_abc", "// [redacted]"},
		{`f("xoxb-1234567890-abc")`, `f("[redacted]")`},
		{`f("id AKIAABCDEFGHIJKLMNOP.")`, `f("id [redacted].")`},
		{`f("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl")`, `f("[redacted]")`},
		{"f(`-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----`)", "f(`[redacted]\n\n\n`)"},
		{`f("-----BEGIN PRIVATE KEY-----\nMIIE\n")`, `f("[redacted]")`},
		{`f("Bearer abc123def456")`, `f("Bearer [redacted]")`},
		{`f("postgres://me:hunter2@db/x")`, `f("postgres://me:[redacted]@db/x")`},
		{`f("plain-secret-longer", "plain-secret", plain-secret)`, `f("[redacted]", "[redacted]", [redacted])`},
		{`f("s3cr\"et\nline")`, `f("[redacted]")`},
		{`f("CUST-123 and CUST-4")`, `f("[redacted] and [redacted]")`},
	} {
		if got := r.Source(c.source); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.source, got, c.want)
		}
	}
}

// What the configuration holds for servers and the bus is a secret as well, if it looks like one.
func TestSpec_P8_SecretsOfTheConfiguration(t *testing.T) {
	r, err := NewRedactor(&schemas.Config{
		Bus: schemas.BusConfig{Token: "bus-token-1"},
		MCPServers: map[string]schemas.MCPServer{"a": {
			Env:     map[string]string{"LINEAR_API_KEY": "linear-key-1", "HOME": "/home/someone", "OTHER": "sk-abcdefghijklmnop0123", "PASSWORD": "test"},
			Headers: map[string]string{"Authorization": "Bearer header-token-1", "Accept": "text/html"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const source = `f("bus-token-1 linear-key-1 /home/someone header-token-1 text/html test")`
	if got, want := r.Source(source), `f("[redacted] [redacted] /home/someone [redacted] text/html test")`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSpec_P8_WrongPatternIsNamed(t *testing.T) {
	_, err := NewRedactor(&schemas.Config{History: schemas.HistoryConfig{Patterns: []string{"ok", "(no"}}})
	refused, ok := errors.AsType[*schemas.Error](err)
	if !ok || refused.Field != "history.patterns[1]" || refused.Code != schemas.InvalidInput {
		t.Errorf("error = %v", err)
	}
}

// P7: without the setting nothing is masked.
func TestSpec_P7_RawByDefault(t *testing.T) {
	var r *Redactor
	input := schemas.JSON(`{"title":"sk-abcdefghijklmnop0123","code":"const token = 'abc'"}`)
	if got, changed := r.Input(input); string(got) != string(input) || changed {
		t.Errorf("got %s", got)
	}
}

func TestSpec_P8_MasksTheWholeInput(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{})
	for _, c := range []struct{ input, want string }{
		{`{ "title":"use sk-abcdefghijklmnop0123", "code":"const token = \"abc\"\nf(1.50)", "restartSafe":true}`,
			`{ "title":"use [redacted]", "code":"const token = \"[redacted]\"\nf(1.50)", "restartSafe":true}`},
		{`{"command":"secret = 'a'","code":"secret = 'a'"}`, `{"command":"secret = '[redacted]'","code":"secret = '[redacted]'"}`},
		{`{"c\u006fde":"secret = 'a'"}`, `{"c\u006fde":"secret = '[redacted]'"}`},
		{`{"code":1,"apiKey":"abc","more":[{"password":"def","x":"y"}]}`, `{"code":1,"apiKey":"[redacted]","more":[{"password":"[redacted]","x":"y"}]}`},
		{`const key = "sk-abcdefghijklmnop0123"`, `const key = "[redacted]"`},
		{`"sk-abcdefghijklmnop0123"`, `"[redacted]"`},
		{`{"title":"a","code":"const token = get()"}`, ``},
		{``, ``},
	} {
		got, changed := r.Input(schemas.JSON(c.input))
		if want := cmp.Or(c.want, c.input); string(got) != want || changed != (c.want != "") {
			t.Errorf("%s\n got %s, %v\nwant %s", c.input, got, changed, want)
		}
	}
}

// pieces are what random programs are put together from.
var pieces = []string{
	"const ", "token", "apiKey", "pageToken", " = ", ": ", `"abc"`, `'d\'e'`, "`f\n${", "}`", "`g`", "{", "}", "[", "]", "(", ")", ", ", ";", "\n", "\r\n", "\u2028",
	"\\\n", "// ", "/* ", " */", "/", "sk-abcdefghijklmnop0123", "Bearer abc123def456", "password=hunter2", "-----BEGIN KEY-----\nab\n", "-----END KEY-----",
	"```js\n", "```", "[redacted]", "[reda", "cted]", "redacted", `"`, "'", "`", "1234", "await f()", " + ", " || ", " ? ", "secret", "x", "é", "\xff", "\xfd", "\\", "https://a:b@c",
}

// Masking is stable, keeps line numbers and what it was given, and takes out what it must, whatever it's given.
func TestSpec_P8_StableUnderRepetition(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{Secrets: []string{"redacted", "abc;", "x\ny"}, Patterns: []string{`^a`, `c.*b`, `\s+x`, ``, `t$`}})
	rapid.Check(t, func(t *rapid.T) {
		checkRedaction(t, r, strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), ""))
	})
}

func FuzzRedaction(f *testing.F) {
	for _, seed := range []string{"const token = `a\n${b}c`", `({"password": "x" + y})`, "secret = 'a\\\nb' // token: \"c\"", "[redacted]\n" + mask, "-----BEGIN A-----\r\n"} {
		f.Add(seed)
	}
	r := redactor(f, schemas.HistoryConfig{Secrets: []string{"redacted", "abcd"}, Patterns: []string{`^a`, `c.*b`}})
	f.Fuzz(func(t *testing.T, source string) { checkRedaction(t, r, source) })
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkRedaction(t failer, r *Redactor, source string) {
	for name, clean := range map[string]func(string) string{"source": r.Source, "text": r.Text} {
		once := clean(source)
		if twice := clean(once); twice != once {
			t.Fatalf("%s of %q isn't stable:\n%q\n%q", name, source, once, twice)
		}
		if a, b := lineEnds(source), lineEnds(once); a != b {
			t.Fatalf("%s of %q has other lines: %q, not %q", name, source, b, a)
		}
		if utf8.ValidString(source) && !utf8.ValidString(once) {
			t.Fatalf("%s of %q isn't UTF-8: %q", name, source, once)
		}
		for _, secret := range r.secrets {
			for part := range strings.SplitSeq(once, mask) {
				if strings.Contains(part, secret) {
					t.Fatalf("%s of %q holds %q: %q", name, source, secret, once)
				}
			}
		}
	}
	input, err := json.Marshal(map[string]string{"title": source, "code": source})
	if err != nil {
		t.Fatalf("%v", err)
	}
	once, changed := r.Input(input)
	if !json.Valid(once) || changed == bytes.Equal(once, input) {
		t.Fatalf("input of %q: %s, %v", source, once, changed)
	}
	if twice, changed := r.Input(once); changed || !bytes.Equal(twice, once) {
		t.Fatalf("input of %q isn't stable:\n%s\n%s", source, once, twice)
	}
}

// lineEnds are the line terminators of a text.
func lineEnds(text string) string {
	return strings.Join(regexp.MustCompile("\r\n|[\n\r\u2028\u2029]").FindAllString(text, -1), "")
}

// A program is masked in a time that its size bounds, whatever it is made of.
func TestSpec_P8_HostileProgramsTakeBoundedTime(t *testing.T) {
	r := redactor(t, schemas.HistoryConfig{Secrets: []string{"abcd"}, Patterns: []string{`^a`}})
	for name, unit := range map[string]string{
		"the pattern's start": "a", "assignments": "token=", "literals": `token="a";`, "begins": "-----BEGIN A-----", "names": "token:x ",
		"nested": "token=[", "masks": mask, "half masks": "[redacted", "quotes": `"`, "sums": `secret="a"+`, "one string": `:token=a1b2`,
	} {
		begun := time.Now()
		source := strings.Repeat(unit, schemas.MaxCodeBytes/8/len(unit))
		if name == "one string" {
			source = `"` + source + `"`
		}
		once := r.Source(source)
		if d := time.Since(begun); d > 30*time.Second {
			t.Errorf("%s took %v for %d bytes", name, d, len(once))
		}
	}
}
