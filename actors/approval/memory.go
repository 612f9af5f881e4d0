package approval

import "github.com/codecell/codecell/schemas"

// remembered is how many approvals a gate knows after their end, to answer late decisions without the record.
const remembered = 1024

// memory remembers the last approvals. The zero value is ready.
type memory struct {
	byID map[string]*schemas.Approval
	ring []string
	next int
}

func (m *memory) find(id string) *schemas.Approval { return m.byID[id] }

func (m *memory) add(a schemas.Approval) {
	a.Input, a.Grant = nil, nil
	if m.byID == nil {
		m.byID = map[string]*schemas.Approval{}
	}
	m.byID[a.ID] = &a
	if len(m.ring) < remembered {
		m.ring = append(m.ring, a.ID)
		return
	}
	delete(m.byID, m.ring[m.next])
	m.ring[m.next] = a.ID
	m.next = (m.next + 1) % remembered
}
