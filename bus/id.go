package bus

import (
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/codecell/codecell/schemas"
)

const (
	hostIDLen         = 10
	runSuffixLen      = 26
	executorIDLen     = 16
	approvalSuffixLen = 12
	entryIDLen        = 16
	swarmIDLen        = 8
	agentSuffixLen    = 10
)

// NewHostID gives a random host id: 10 lowercase base32 characters, 50 bits.
func NewHostID() string { return randomID(hostIDLen) }

// NewRunID gives a random id of a run or of a cell on a host: the host id, a dash and 26
// lowercase base32 characters, 130 bits. A cell's id is the runId that models see: who
// guesses one can't be ruled out by secrecy alone, so owners check identities too (W2).
func NewRunID(host string) string { return host + "-" + randomID(runSuffixLen) }

// NewExecutorID gives a random id of an executor process: 16 lowercase base32 characters.
func NewExecutorID() string { return randomID(executorIDLen) }

// NewClientID gives a random id of a client that brings tools for a run: 26 lowercase base32 characters, 130 bits. Who
// doesn't know it can't listen to its calls, but by a wildcard that permissions can forbid.
func NewClientID() string { return randomID(runSuffixLen) }

// NewApprovalID gives a random id of an approval that an executor waits for: the executor's id, a dash and 12
// lowercase base32 characters. It is no secret: permissions say who may decide.
func NewApprovalID(executor string) string { return executor + "-" + randomID(approvalSuffixLen) }

// ExecutorOf tells which executor waits for an approval.
func ExecutorOf(approval string) (string, error) {
	n := len(approval) - approvalSuffixLen - 1
	if n < 1 || approval[n] != '-' || !isBase32(approval[n+1:]) || clean(approval[:n]) != approval[:n] {
		return "", schemas.Refuse("approval", fmt.Sprintf("approval is not an id that `codecell approvals ls` shows: copy it from there (got %.64q)", approval))
	}
	return approval[:n], nil
}

// NewEntryID gives a random id of a session entry: 16 lowercase base32 characters.
func NewEntryID() string { return randomID(entryIDLen) }

// HostOf tells which host owns a run or cell. A malformed id is invalid_input, and as unavailable as one that has
// ended (W2, W3): ids come from models.
func HostOf(runID string) (string, error) {
	const n = hostIDLen
	if len(runID) != n+1+runSuffixLen || runID[n] != '-' || !isBase32(runID[:n]) || !isBase32(runID[n+1:]) {
		return "", schemas.Refuse("runId", "runId is unavailable or expired: it is not one that exec returned. Pass the runId of a waiting result unchanged, "+
			"and look at the earlier results before you run anything again.")
	}
	return runID[:n], nil
}

// NewSwarmID gives a random id of a process that runs agents for others: 8 lowercase base32 characters, 40 bits.
func NewSwarmID() string { return randomID(swarmIDLen) }

// NewAgentID gives a random id of an agent that such a process runs: its id, a dash and 10 lowercase base32 characters. Only
// those who started an agent can ask for it, whoever else may know the id (G10).
func NewAgentID(swarm string) string { return swarm + "-" + randomID(agentSuffixLen) }

// SwarmOf gives the process that runs an agent. Anything else than an agent's id is an error.
func SwarmOf(agent string) (string, error) {
	swarm, suffix, _ := strings.Cut(agent, "-")
	if len(swarm) != swarmIDLen || len(suffix) != agentSuffixLen || !isBase32(swarm) || !isBase32(suffix) {
		return "", schemas.Refuse("ids", fmt.Sprintf("%.40q is no agent's id", agent))
	}
	return swarm, nil
}

// randomID gives n ≤ 32 characters.
func randomID(n int) string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return lowerBase32.EncodeToString(b[:])[:n]
}

func isBase32(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
