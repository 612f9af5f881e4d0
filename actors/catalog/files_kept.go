package catalog

import "strings"

// keptPath is the file that declares what programs leave for later ones (G3).
const keptPath = "results.d.ts"

const declaredResults = `/** What results.save(value) resolves to: a small description of the value that was saved. */
interface SavedResult {
  /** For results.load and results.delete, in this program and in later ones of this run. */
  id: string;
  /** How long the value is as JSON, in UTF-8 bytes. */
  bytes: number;
  /** The elements of an array, the keys of an object; 1 for anything else. */
  count: number;
  /** The value's type, from a sample of it. */
  shape: string;
  /** The beginning of the value's JSON. */
  preview: string;
  /** The preview is not all of it. */
  previewTruncated: boolean;
}

/** Results that later programs of this run can load. They are gone when the run ends. */
declare const results: {
  /** Keeps JSON data. A RangeError says that there is no room: delete what is not needed any more. */
  save(value: unknown): Promise<SavedResult>;
  /** A copy of what was saved. */
  load(id: string): Promise<any>;
  delete(id: string): Promise<true>;
};
`

const declaredStore = `/**
 * Keeps JSON data under a key for later programs of this session, once this program has completed; undefined deletes.
 * Keys have 1 to 256 characters, a value up to 256 KiB, all of them up to 1 MiB: more is a RangeError.
 */
declare function store(key: string, value: unknown): Promise<void>;

/** A copy of what was stored under the key, by this program or by an earlier one; undefined if nothing was. */
declare function load(key: string): Promise<any>;
`

// keeps tells whether programs can leave something behind.
func (f Features) keeps() bool { return f.Results || f.Store }

// declareKept is the file of the features that keep something.
func declareKept(f Features) string {
	var parts []string
	if f.Results {
		parts = append(parts, declaredResults)
	}
	if f.Store {
		parts = append(parts, declaredStore)
	}
	return strings.Join(parts, "\n")
}

// describeSkills says in one line of a model's text what there is of skills, or nothing.
func describeSkills(f Features) string {
	switch {
	case f.Skills && f.SkillSearch:
		return "`await skills.search(\"task\")` and `await skills.list()` give { name, description, location } of instructions; `await skills.read(name)` is the whole text. Read one that fits before you do such a task"
	case f.Skills:
		return "`await skills.list()` gives { name, description, location } of instructions; `await skills.read(name)` is the whole text. Read one that fits before you do such a task"
	}
	return ""
}

// describeKept says in one line of a model's text what programs can leave behind, or nothing.
func describeKept(f Features) string {
	var parts []string
	if f.Store {
		parts = append(parts, "`await store(key, value)` keeps JSON for later programs of the session, `await load(key)` gets it")
	}
	if f.Results {
		parts = append(parts, "`(await results.save(value)).id` is for `results.load(id)` in later programs of this run")
	}
	return strings.Join(parts, "; ")
}
