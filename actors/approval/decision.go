package approval

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// maxByBytes and maxNoteBytes bound who decided and what they say of it.
	maxByBytes   = 256
	maxNoteBytes = 2 << 10
	// maxIDBytes bounds what is repeated of an approval's id in an error.
	maxIDBytes = 200
	// MaxGrantCalls is how many calls one grant allows at most.
	MaxGrantCalls = 10_000
	// maxMatchBytes bounds the schema of a grant.
	maxMatchBytes = 16 << 10
	// maxGrantAge is how long a grant holds at most, sessionGrantAge one for a session that says nothing.
	maxGrantAge     = 24 * time.Hour
	sessionGrantAge = time.Hour
	// skew is how far the clocks of who decides and of the executor may be apart.
	skew = time.Minute
)

// take is the handler of the decide subjects. It hands a decision to whoever waits for it.
func (g *Gate) take(req *decideRequest) {
	if bad := g.hand(req); bad != nil {
		_ = req.Respond(&schemas.Ack{Err: bad})
	}
}

func (g *Gate) hand(req *decideRequest) *schemas.Error {
	id := req.Body.Approval
	if req.Subject != bus.DecideSubject(bus.Token(g.Executor), id) {
		return schemas.Refuse("approval", "the decision names another approval than its subject: decide each on its own subject")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.waiting[id]
	if t == nil {
		if ended := g.ended.find(id); ended != nil {
			return ended.Settled()
		}
		return schemas.Refuse("approval", "no call waits for approval "+cut(id, maxIDBytes)+": `codecell approvals ls --all` shows what became of it")
	}
	select {
	case t.decisions <- req:
		return nil
	default:
		return schemas.Refuse("approval", "another decision about approval "+id+" is being put on record: look at it again")
	}
}

// check judges a decision before anything is decided, and completes its grant.
func (g *Gate) check(d *schemas.Decision, call *schemas.Call) (*schemas.Grant, *schemas.Error) {
	switch {
	case strings.TrimSpace(d.By) == "":
		return nil, schemas.Refuse("by", "by is empty: say who decides")
	case len(d.By) > maxByBytes || !utf8.ValidString(d.By):
		return nil, schemas.Refuse("by", fmt.Sprintf("by must be UTF-8 text of at most %d bytes, and has %d", maxByBytes, len(d.By)))
	case len(d.Note) > maxNoteBytes || !utf8.ValidString(d.Note):
		return nil, schemas.Refuse("note", fmt.Sprintf("note must be UTF-8 text of at most %d bytes, and has %d", maxNoteBytes, len(d.Note)))
	case d.Grant == nil:
		return nil, nil
	case !d.Approve:
		return nil, schemas.Refuse("grant", "a denial can't grant anything: approve the call, or leave out the grant")
	}
	return complete(d, call, time.Now())
}

// complete judges a grant, and fills in what it is for.
func complete(d *schemas.Decision, call *schemas.Call, now time.Time) (*schemas.Grant, *schemas.Error) {
	grant := schemas.Grant{
		Scope: d.Grant.Scope, Calls: d.Grant.Calls, Match: d.Grant.Match, Expires: d.Grant.Expires,
		Source: call.Source, Owner: call.Owner, Tool: call.Tool, Approval: d.Approval, By: d.By,
	}
	switch grant.Scope {
	case schemas.GrantCell, schemas.GrantRun, schemas.GrantSession:
	default:
		return nil, schemas.Refuse("grant.scope", fmt.Sprintf("grant.scope must be %q, %q or %q, not %q",
			schemas.GrantCell, schemas.GrantRun, schemas.GrantSession, cut(string(grant.Scope), maxIDBytes)))
	}
	if _, ok := bus.GrantKey(grant.Scope, call.Address, call.Identity); !ok {
		return nil, schemas.Refuse("grant.scope", fmt.Sprintf("the call belongs to no %s that can be told from others: grant less", grant.Scope))
	}
	if grant.Calls < 1 || grant.Calls > MaxGrantCalls {
		return nil, schemas.Refuse("grant.calls", fmt.Sprintf("grant.calls must be from 1 to %d, not %d", MaxGrantCalls, grant.Calls))
	}
	if len(grant.Match) > maxMatchBytes {
		return nil, schemas.Refuse("grant.match", fmt.Sprintf("grant.match is %d bytes long: at most %d are taken", len(grant.Match), maxMatchBytes))
	}
	if _, err := schemas.CompileStrict(grant.Match); err != nil {
		return nil, schemas.Refuse("grant.match", "grant.match is no JSON Schema that can be enforced: "+cut(err.Error(), maxNoteBytes))
	}
	latest := now.Add(maxGrantAge)
	switch expires := time.Unix(0, grant.Expires); {
	case grant.Expires == 0 && grant.Scope == schemas.GrantSession:
		grant.Expires = now.Add(sessionGrantAge).UnixNano()
	case grant.Expires == 0:
		grant.Expires = latest.UnixNano()
	case !expires.After(now):
		return nil, schemas.Refuse("grant.expires", "grant.expires is over already: give a time to come, or none")
	case expires.After(latest.Add(skew)):
		return nil, schemas.Refuse("grant.expires", fmt.Sprintf("grant.expires is more than %v away: a grant holds for a day at most", maxGrantAge))
	case expires.After(latest):
		grant.Expires = latest.UnixNano()
	}
	return &grant, nil
}
