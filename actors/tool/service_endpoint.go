package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// Keys of an endpoint's metadata. The first makes it a tool; a schema is JSON as text, and flags are "true".
const (
	metaTool        = "codecell.tool"
	metaLabel       = "codecell.label"
	metaReplaySafe  = "codecell.replaySafe"
	metaIdempotent  = "codecell.idempotent"
	metaSequential  = "codecell.sequential"
	metaApproval    = "codecell.approval"
	metaTimeout     = "codecell.timeoutMs"
	metaDescription = "description"
	metaInput       = "inputSchema"
	metaOutput      = "outputSchema"
)

// Bounds of what one service says.
const (
	maxServiceTools    = 1000
	maxServiceProblems = 20
	maxSubjectBytes    = 256
	serviceTimeout     = 10 * time.Minute
	minServiceTimeout  = 100 * time.Millisecond
	maxServiceTimeout  = 24 * time.Hour
)

// endpoint is where calls of a tool go, and how long they may take.
type endpoint struct {
	subject string
	timeout time.Duration
}

// endpointsOf gives the tools of a service's instances by name, and what is wrong with others. Where instances differ, the one
// of the newest version counts, and of those the one with the first id.
func endpointsOf(service string, instances []*sighting) (to map[string]endpoint, tools []schemas.Tool, problems []string) {
	slices.SortFunc(instances, func(a, b *sighting) int {
		return cmp.Or(compareVersions(b.Version, a.Version), cmp.Compare(a.ID, b.ID))
	})
	to = map[string]endpoint{}
	byName := map[string]schemas.Tool{}
	said := map[string]bool{}
	say := func(format string, args ...any) {
		if p := fmt.Sprintf(format, args...); !said[p] && len(said) < maxServiceProblems {
			said[p] = true
			problems = append(problems, p)
		}
	}
	for _, i := range instances {
		for _, e := range i.Endpoints {
			name, marked := e.Metadata[metaTool]
			if !marked {
				continue
			}
			tool, end, err := admitEndpoint(service, e.Subject, e.Metadata)
			before, known := byName[name]
			switch {
			case err != nil:
				say("%s", err)
			case known && (to[name] != end || !reflect.DeepEqual(before, tool)):
				say("describes tool %q in different ways: that of its newest version is used", name)
			case known:
			case len(tools) == maxServiceTools:
				say("has more than %d tools: the others are left out", maxServiceTools)
			default:
				byName[name], to[name] = tool, end
				tools = append(tools, tool)
			}
		}
	}
	slices.SortFunc(tools, func(a, b schemas.Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.Sort(problems)
	return to, tools, problems
}

// admitEndpoint makes a tool of an endpoint, or says why it can't be one. What it says of itself is a stranger's.
func admitEndpoint(service, subject string, meta map[string]string) (t schemas.Tool, e endpoint, err error) {
	name := meta[metaTool]
	short := clip(name, 40)
	switch {
	case name == "":
		return t, e, fmt.Errorf("has a tool without a name")
	case len(name) > maxNameBytes:
		return t, e, fmt.Errorf("has tool %q, whose name has %d bytes, over the limit of %d", short, len(name), maxNameBytes)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return t, e, fmt.Errorf("has tool %q, whose name has control characters", short)
	case len(meta[metaInput]) > maxSchemaBytes || len(meta[metaOutput]) > maxSchemaBytes:
		return t, e, fmt.Errorf("has tool %q, whose schema is over the limit of %d bytes", short, maxSchemaBytes)
	case !callable(subject):
		return t, e, fmt.Errorf("has tool %q on the subject %q, which no tool may have", short, clip(subject, 80))
	}
	for _, key := range []string{metaInput, metaOutput} {
		if text := meta[key]; text != "" && !json.Valid([]byte(text)) {
			return t, e, fmt.Errorf("has tool %q, whose %s isn't JSON", short, key)
		}
	}
	for _, key := range []string{metaReplaySafe, metaIdempotent, metaSequential, metaApproval} {
		// Read as false, a misspelt flag would be one that permits: a tool without the approval that it asks for.
		if flag := meta[key]; flag != "" && flag != "true" && flag != "false" {
			return t, e, fmt.Errorf("has tool %q, whose %s is %q, and not true or false", short, key, clip(flag, 20))
		}
	}
	flag := func(key string) bool { return meta[key] == "true" }
	t = schemas.Tool{
		Source: schemas.SourceNative, Tier: schemas.TierPlugin, Owner: service, Name: name,
		Label: clip(meta[metaLabel], maxNameBytes), Description: clip(meta[metaDescription], maxDescriptionBytes),
		Parameters: schemaText(json.RawMessage(meta[metaInput])), Output: schemaText(json.RawMessage(meta[metaOutput])),
		ReplaySafe: flag(metaReplaySafe), Idempotent: flag(metaIdempotent), Sequential: flag(metaSequential), Approval: flag(metaApproval),
	}
	return t, endpoint{subject: subject, timeout: timeoutOf(meta[metaTimeout])}, nil
}

// callable tells whether calls may go to a subject: it is one, and none of the system's, of the store's, of codecell's own or
// of somebody's inbox, where a service could have us speak for it.
func callable(subject string) bool {
	first, _, _ := strings.Cut(subject, ".")
	if len(subject) > maxSubjectBytes || !utf8.ValidString(subject) || strings.ContainsAny(subject, " \t\r\n\x00*>") {
		return false
	}
	for token := range strings.SplitSeq(subject, ".") {
		if token == "" {
			return false
		}
	}
	return !strings.HasPrefix(first, "$") && !strings.HasPrefix(first, "_INBOX") && first != "codecell"
}

func timeoutOf(ms string) time.Duration {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || n <= 0 {
		return serviceTimeout
	}
	return max(minServiceTimeout, time.Duration(min(n, maxServiceTimeout.Milliseconds()))*time.Millisecond)
}

// compareVersions compares semantic versions by their numbers.
func compareVersions(a, b string) int {
	numbers := func(version string) (out []int) {
		version, _, _ = strings.Cut(version, "-")
		for part := range strings.SplitSeq(version, ".") {
			n, _ := strconv.Atoi(part) // a service's version is what it says; 0 is as good as another
			out = append(out, n)
		}
		return out
	}
	return slices.Compare(numbers(a), numbers(b))
}

// sameOffer tells whether nothing has changed for readers.
func sameOffer(a, b *schemas.Registration) bool {
	return slices.Equal(a.Problems, b.Problems) && reflect.DeepEqual(a.Tools, b.Tools)
}

// serviceHeaders tells a service for whom it works (P2).
func serviceHeaders(call *schemas.Call) map[string]string {
	all := map[string]string{
		"Codecell-Call": call.Address.Cell + "." + call.ID, "Codecell-Parent": call.ParentID,
		"Codecell-Agent": call.Identity.Agent, "Codecell-Session": call.Identity.SessionID, "Codecell-Session-Key": call.Identity.SessionKey,
		"Codecell-Run": call.Identity.Run, "Codecell-Sender": call.Identity.Sender, "Codecell-Channel": call.Identity.Channel,
		"Codecell-Sandbox": call.Identity.Sandbox, "Codecell-Idempotency-Key": call.IdempotencyKey, "traceparent": call.TraceParent,
	}
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return all
}

// serviceValue reads an answer.
func serviceValue(tool string, body []byte) (schemas.JSON, error) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && (!utf8.Valid(body) || !json.Valid(body)) {
		return nil, &schemas.CallError{
			Code: schemas.CallOutputContract, Location: atOutput, Effect: schemas.Done,
			Message: tool + " ran, and what its service answered isn't JSON. Its effects may have happened; calling it again may repeat them",
		}
	}
	return body, nil
}
