package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/schemas"
)

// writeSkill puts a skill into a folder of skills.
func writeSkill(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name, "SKILL.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// skilled is a node with folders of skills.
func skilled(t *testing.T, search bool, folders ...string) *host.Node {
	t.Helper()
	return node(t, &schemas.Config{Skills: schemas.SkillsConfig{Folders: folders, Search: search}})
}

func yieldsIn(t *testing.T, n *host.Node, name string, programs map[string]string) {
	t.Helper()
	run := open(t, n, name)
	for code, want := range programs {
		if r := exec(t, run, code); string(r.Value) != want {
			t.Errorf("%s\ngot  %s\nwant %s", code, told(r), want)
		}
	}
}

func TestSpec_G11_SkillsAreListedReadAndSearched(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "skills")
	const text = "---\nname: release-notes\ndescription: Writes release notes.\n---\n\n# Do\n\r\n\tthis: \"é\" \U0001F680\n"
	writeSkill(t, folder, "a", text)
	writeSkill(t, folder, "reconcile", "---\ndescription: >-\n  Compares orders\n  with payments.\n---\nSum them.")
	writeSkill(t, folder, "bare", "Only a text.")
	writeSkill(t, folder, ".hidden", "---\nname: hidden\n---\n")
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	yieldsIn(t, skilled(t, true, folder), "a", map[string]string{
		`return await skills.list()`: `[{"name":"release-notes","description":"Writes release notes.","location":"skills/a/SKILL.md"},` +
			`{"name":"bare","description":"","location":"skills/bare/SKILL.md"},` +
			`{"name":"reconcile","description":"Compares orders with payments.","location":"skills/reconcile/SKILL.md"}]`,
		`return await skills.read("release-notes") === ` + fmt.Sprintf("%q", text):                                       `true`,
		`return await skills.read("bare")`:                                                                               `"Only a text."`,
		`return (await skills.search("how do I compare payments", {limit: 1})).map(s => s.name)`:                         `["reconcile"]`,
		`return (await skills.search("release-notes"))[0].location`:                                                      `"skills/a/SKILL.md"`,
		`return await skills.search("zebra")`:                                                                            `[]`,
		`try { await skills.read("Release-Notes") } catch (e) { return [e.code, e.message] }`:                            `["invalid_input","skills.read: there is no skill \"Release-Notes\": there are release-notes, bare, reconcile"]`,
		`try { await skills.read("../a/SKILL.md") } catch (e) { return e.message.slice(0, 46) }`:                         `"skills.read: there is no skill \"../a/SKILL.md\""`,
		`try { await skills.read() } catch (e) { return e.name }`:                                                        `"TypeError"`,
		`try { await skills.search("x", {limit: 0}) } catch (e) { return e.name }`:                                       `"RangeError"`,
		`try { await skills.search(1) } catch (e) { return e.message }`:                                                  `"skills.search: the query must be a string"`,
		`const s = await skills; return [typeof s.then, String(s), Object.isFrozen(s), typeof (await skills.list())[0]]`: `["undefined","[object skills]",true,"object"]`,
	})
	yieldsIn(t, skilled(t, false, folder), "b", map[string]string{
		`return Object.keys(skills)`: `["list","read"]`,
	})
	yieldsIn(t, node(t, nil), "c", map[string]string{`return typeof skills`: `"undefined"`})
}

// G11: what can't be given whole is refused, and what isn't there to be read isn't read.
func TestSpec_G11_SkillsAreIntactOrRefused(t *testing.T) {
	base := t.TempDir()
	first, second := filepath.Join(base, "one"), filepath.Join(base, "two")
	const most = 256 << 10
	head := "---\nname: %s\n---\n"
	writeSkill(t, first, "full", fmt.Sprintf(head, "full")+strings.Repeat("x", most-len(head)-2))
	writeSkill(t, first, "long", fmt.Sprintf(head, "long")+strings.Repeat("x", most))
	writeSkill(t, first, "binary", fmt.Sprintf(head, "binary")+"\xff\xfe")
	writeSkill(t, first, "open", "---\nname: open\n")
	writeSkill(t, second, "full", fmt.Sprintf(head, "full")+"another")
	writeSkill(t, base, "secret", "---\nname: secret\n---\nkept from programs")
	if runtime.GOOS != "windows" {
		for link, target := range map[string]string{"out": filepath.Join(base, "secret"), "up": "../secret", "in": "full"} {
			if err := os.Symlink(target, filepath.Join(second, link)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(second, "file"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../../secret/SKILL.md", filepath.Join(second, "file", "SKILL.md")); err != nil {
			t.Fatal(err)
		}
	}
	n := skilled(t, false, first, second, filepath.Join(base, "missing"))
	yieldsIn(t, n, "a", map[string]string{
		`return (await skills.list()).map(s => s.location)`:                                       `["one/binary/SKILL.md","one/full/SKILL.md","one/long/SKILL.md"]`,
		`return (await skills.read("full")).length`:                                               fmt.Sprint(most),
		`try { await skills.read("long") } catch (e) { return e.message }`:                        `"skills.read: long can't be read whole: it is longer than 262144 bytes"`,
		`try { await skills.read("binary") } catch (e) { return e.message }`:                      `"skills.read: binary can't be read whole: it isn't UTF-8 text"`,
		`try { await skills.read("secret") } catch (e) { return e.message.includes("no skill") }`: `true`,
	})
	described, err := open(t, n, "b").Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Join(described.Problems, "\n")
	for _, want := range []string{
		"one/open/SKILL.md: its front matter isn't closed", "two/full/SKILL.md has the name of one/full/SKILL.md", "the folder missing can't be opened",
		"two/out/SKILL.md can't be read", "two/up/SKILL.md can't be read", "two/file/SKILL.md can't be read",
	} {
		if !strings.Contains(told, want) && (runtime.GOOS != "windows" || !strings.HasPrefix(want, "two/")) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	if strings.Contains(told, base) {
		t.Errorf("a path of the machine in\n%s", told)
	}
}

// A cell keeps what was there when it began; the next one sees what has changed. Restart-safe programs can read, too (R1).
func TestSpec_G11_NewCellsSeeChangedSkills(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "skills")
	writeSkill(t, folder, "a", "---\nname: a\n---\nold")
	n := skilled(t, false, folder)
	run := open(t, n, "a")
	first := exec(t, run, `await yield_control(); return [(await skills.list()).length, (await skills.read("a")).slice(-3)]`)
	if first.Status != schemas.StatusWaiting {
		t.Fatal(told(first))
	}
	writeSkill(t, folder, "a", "---\nname: a\n---\nnewer")
	writeSkill(t, folder, "b", "---\nname: b\n---\n")
	mustComplete(t, exec(t, run, `return [(await skills.list()).length, (await skills.read("a")).slice(-5)]`), `[2,"newer"]`)
	if err := os.RemoveAll(filepath.Join(folder, "a")); err != nil {
		t.Fatal(err)
	}
	second, err := run.Exec(t.Context(), schemas.Exec{Input: schemas.JSON(`{"title":"t","restartSafe":true,"code":"return (await skills.list()).map(s => s.name)"}`)})
	if err != nil {
		t.Fatal(err)
	}
	mustComplete(t, second, `["b"]`)
	old, err := run.Wait(t.Context(), first.RunID)
	if err != nil {
		t.Fatal(err)
	}
	mustComplete(t, old, `[1,"old"]`)
}
