package approval

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// maxGrants is how many grants of one scope may hold at once.
	maxGrants = 64
	// attempts is how often a change of grants is tried against other executors, and pause the longest wait between two.
	attempts = 50
	pause    = 10 * time.Millisecond
)

// scopes are looked up in this order: the narrowest grant is used first.
var scopes = []schemas.GrantScope{schemas.GrantCell, schemas.GrantRun, schemas.GrantSession}

// useGrant takes one call from a grant that covers it. It gives nil if there is none.
func (g *Gate) useGrant(ctx context.Context, call *schemas.Call) (used *schemas.Grant, err error) {
	for _, scope := range scopes {
		key, ok := bus.GrantKey(scope, call.Address, call.Identity)
		if !ok {
			continue
		}
		err = g.change(ctx, key, func(list []schemas.Grant) ([]schemas.Grant, bool) {
			used = nil
			for i := range list {
				if covers(&list[i], call) {
					list[i].Used++
					one := list[i]
					used = &one
					return list, true
				}
			}
			return list, false
		})
		if err != nil {
			return nil, err
		}
		if used != nil {
			g.Tell(&schemas.GrantUsed{
				At: time.Now().UnixNano(), Address: call.Address, Call: call.ID, Approval: used.Approval, Tool: used.Tool,
				Scope: used.Scope, Left: used.Calls - used.Used,
			})
			return used, nil
		}
	}
	return nil, nil
}

// covers tells whether a grant that holds allows a call: one of the same tool, whose input matches.
func covers(g *schemas.Grant, call *schemas.Call) bool {
	if g.Source != call.Source || g.Owner != call.Owner || g.Tool != call.Tool {
		return false
	}
	match, err := schemas.CompileStrict(g.Match)
	return err == nil && len(match.Validate(call.Args)) == 0
}

// give adds a grant to its scope.
func (g *Gate) give(ctx context.Context, call *schemas.Call, grant schemas.Grant) error {
	key, _ := bus.GrantKey(grant.Scope, call.Address, call.Identity)
	full := false
	err := g.change(ctx, key, func(list []schemas.Grant) ([]schemas.Grant, bool) {
		if full = len(list) >= maxGrants; full {
			return list, false
		}
		return append(list, grant), true
	})
	if err == nil && full {
		err = fmt.Errorf("%d grants hold in this %s already", maxGrants, grant.Scope)
	}
	return err
}

// change changes the grants of a scope that hold, against others who do so at the same time. edit says whether there is
// anything to write, and may be called again with what another has left.
func (g *Gate) change(ctx context.Context, key string, edit func([]schemas.Grant) ([]schemas.Grant, bool)) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	mine := false // the turn; who only looks needs none
	for range attempts {
		kept, revision, err := g.book.Grants(ctx, key)
		if err != nil {
			return err
		}
		now := time.Now().UnixNano()
		holding := slices.DeleteFunc(kept.Grants, func(g schemas.Grant) bool { return g.Expires <= now || g.Used >= g.Calls })
		next, changed := edit(holding)
		if !changed {
			return nil
		}
		if !mine {
			select {
			case g.turn <- struct{}{}:
				defer func() { <-g.turn }()
			case <-ctx.Done():
				return ctx.Err()
			}
			mine = true
			continue
		}
		if err = g.book.SetGrants(ctx, key, &schemas.Grants{Grants: next}, revision); !errors.Is(err, bus.ErrChanged) {
			return err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("other executors change the grants all the time")
}
