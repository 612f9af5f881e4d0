package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

const (
	// maxMessage bounds the JSON of what a message says, maxToolText that of what a tool has answered, in bytes: the whole
	// of it is in the outcome of the call.
	maxMessage  = 512 << 10
	maxToolText = 256 << 10
)

// Say adds what a person or a model said, and gives the id of its entry. It follows the entry parent, from which the
// session goes on then; an empty parent means the last one. A session that isn't there begins with it.
//
// Of what a model or a tool said at greater length than is kept, the beginning is kept, and marked ([schemas.Said]): a
// turn that has happened must not lack in its transcript. People are refused, since they can say less.
func (s *Store) Say(ctx context.Context, key, parent string, message schemas.MessageEntry) (string, error) {
	if err := checkKey("key", key); err != nil {
		return "", err
	}
	switch {
	case !slices.Contains([]string{schemas.RoleUser, schemas.RoleAssistant, schemas.RoleSystem, schemas.RoleTool}, message.Role):
		return "", refuse("role", "role must be user, assistant, system or tool, not %q", message.Role)
	case !json.Valid(message.Content):
		return "", refuse("content", "content must be JSON, such as a string in quotes")
	}
	message = kept(message)
	if len(message.Content) > maxMessage {
		return "", refuse("content", "content is longer than %d bytes: say less, or in several messages", maxMessage)
	}
	if parent == "" {
		return s.keep(ctx, key, schemas.SessionEntry{Kind: schemas.EntryMessage, Message: &message})
	}
	return s.append(ctx, key, func(t *Tree) (*schemas.SessionEntry, error) {
		if t.Path(parent) == nil {
			return nil, refuse("parent", "session %q has no entry %q of its own: name one that `codecell session show` lists, or fork the session there", key, parent)
		}
		return &schemas.SessionEntry{Parent: parent, Kind: schemas.EntryMessage, Message: &message}, nil
	})
}

// keep adds an entry behind the last one of a session, and gives its id once it is kept.
func (s *Store) keep(ctx context.Context, key string, entry schemas.SessionEntry) (string, error) {
	open, err := s.Session(ctx, key)
	if err != nil {
		return "", err
	}
	return open.Keep(ctx, entry)
}

// History gives what was said on the branch of a session's last entry, oldest first: the messages as they are kept, and
// the summary of a compaction, as a system message, in the place of those that it stands for. A session that isn't there
// has none.
func (s *Store) History(ctx context.Context, key string) ([]schemas.MessageEntry, error) {
	if err := checkKey("key", key); err != nil {
		return nil, err
	}
	tree, err := s.tree(ctx, key)
	if err != nil || tree.Len() == 0 {
		return nil, err
	}
	b, err := resolve(ctx, func(ctx context.Context, k string) (*Tree, error) {
		if k == key {
			return tree, nil
		}
		return s.tree(ctx, k)
	}, key, "")
	if err != nil {
		return nil, err
	}
	return b.Messages(), nil
}

// Messages are what was said on the branch, as [Store.History] gives them.
func (b *Branch) Messages() []schemas.MessageEntry {
	var out []schemas.MessageEntry
	for _, e := range b.View() {
		switch e.Kind {
		case schemas.EntryMessage:
			out = append(out, *e.Message)
		case schemas.EntryCompact:
			out = append(out, schemas.NewMessage(schemas.RoleSystem, schemas.Said{Text: e.Compact.Summary}))
		default:
		}
	}
	return out
}

// kept gives a message of a model or a tool as it is kept.
func kept(m schemas.MessageEntry) schemas.MessageEntry {
	limit := maxMessage
	switch m.Role {
	case schemas.RoleTool:
		limit = maxToolText
	case schemas.RoleAssistant:
	default:
		return m
	}
	if len(m.Content) <= limit {
		return m
	}
	said := m.Said()
	said.Truncated = true
	text, calls := said.Text, said.ToolCalls
	for room := limit; room >= limit/16; room /= 2 { // text and calls share it, and an escape has six bytes at most
		said.Text, said.ToolCalls = beginning(text, room), shortened(calls, room)
		if out := schemas.NewMessage(m.Role, said); len(out.Content) <= limit {
			return out
		}
	}
	return m // there is no room for the names of the calls
}

// shortened gives calls whose arguments have about limit bytes together. What is cut stays an object, since providers read
// what they said before.
func shortened(calls []schemas.SaidCall, limit int) []schemas.SaidCall {
	out := slices.Clone(calls)
	for i := range out {
		if share := limit / len(out); len(out[i].Arguments) > share {
			cut, err := json.Marshal(map[string]string{"truncated": beginning(out[i].Arguments, share/2)})
			if err == nil {
				out[i].Arguments = string(cut)
			}
		}
	}
	return out
}

func beginning(text string, limit int) string {
	return strings.ToValidUTF8(schemas.Prefix(text, limit), "\uFFFD")
}
