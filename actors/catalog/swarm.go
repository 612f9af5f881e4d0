package catalog

import "github.com/codecell/codecell/schemas"

// swarm is the two native tools behind the globals agents, phase and log (G10): codecell's own, and no others of their names.
type swarm struct{ spawn, await *Entry }

// findSwarm gives nothing unless both are there and the swarm is on. Programs of other contracts have no such globals.
func (c *Catalog) findSwarm() *swarm {
	if !c.options.Features.Swarm || c.older() || c.searching() {
		return nil
	}
	s := swarm{c.coreTool(schemas.SwarmOwner, schemas.SpawnTool), c.coreTool(schemas.SwarmOwner, schemas.AwaitTool)}
	if s.spawn == nil || s.await == nil {
		return nil
	}
	return &s
}

// Swarm tells whether programs can start agents, and tell of their progress (G10). Those of restricted runs can't.
func (c *Catalog) Swarm() bool { return c.swarm != nil }

// coreTool looks for a tool of codecell's own.
func (c *Catalog) coreTool(owner, name string) *Entry {
	for _, e := range c.entries {
		if e.Name == name && e.Owner == owner && e.Source == schemas.SourceNative && e.Tier == schemas.TierCore {
			return e
		}
	}
	return nil
}

// takenGlobals are the names that tools can't have because of what this catalog's guests have besides.
func (c *Catalog) takenGlobals() map[string]bool {
	taken := c.namespaceGlobals()
	if c.swarm != nil {
		for name := range swarmGlobals {
			taken[name] = true
		}
	}
	return taken
}

// installAgents are the refs of the swarm's tools.
type installAgents struct {
	Spawn int `json:"spawn"`
	Await int `json:"await"`
}

func (s *swarm) install() *installAgents {
	if s == nil {
		return nil
	}
	return &installAgents{Spawn: s.spawn.Ref, Await: s.await.Ref}
}

// InstallRestricted is the [Catalog.Install] of restricted runs: the same, but without the swarm's globals (G10).
func (c *Catalog) InstallRestricted() []byte {
	if c.swarm == nil {
		return c.install
	}
	return c.renderInstall(nil)
}

// agentsPath is the file that declares the swarm's globals (G3).
const agentsPath = "agents.d.ts"

const declaredAgents = `/** What an agent answered. */
interface AgentAnswer {
  id: string;
  label?: string;
  text: string;
  /** text is the beginning of a longer one. */
  truncated?: true;
  usage: { inputTokens: number; cachedTokens?: number; outputTokens: number };
}

interface AgentTask {
  /** What to do, with all that the agent must know: it knows nothing else. */
  task: string;
  /** A few words for people. */
  label?: string;
  /** A configured agent; the same as this one's by default. */
  agent?: string;
  model?: string;
  mode?: "direct" | "search" | "code" | "auto";
  /** Less time than agents have otherwise. */
  timeoutMs?: number;
}

declare const agents: {
  /** Starts an agent and resolves to its answer. Rejects if it fails. It ends with this program. */
  run(task: string | AgentTask): Promise<AgentAnswer>;
};

/** Says which phase of the work begins, for people; at most 120 characters count. Agents that are started then belong to it. */
declare function phase(title: string): void;

/** Adds output as console.log does, and tells people who watch. */
declare function log(...values: unknown[]): void;
`

// describeAgents says in one line of a model's text how programs start agents.
const describeAgents = "`(await agents.run(task)).text` is another agent's answer to a task that says all it must know; " +
	"run several with Promise.all. `phase(title)` and `log(value)` show progress"
