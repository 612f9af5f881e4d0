package run

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// Skill is instructions that programs can read (G11).
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Location is the file, from its folder on.
	Location string `json:"location"`
	// Text is the whole file. Unreadable says why there is none.
	Text       string `json:"-"`
	Unreadable string `json:"-"`
}

// Skills are those of one moment. A cell keeps those of the moment at which it began. They change nothing, so that
// restart-safe cells have them too (R1), as they have the tools that only read.
type Skills struct {
	list   []Skill
	byName map[string]*Skill
	finder func() *catalog.Finder // built by the first search
}

// NewSkills takes skills that have different names. The caller must not change the list any more.
func NewSkills(list []Skill) *Skills {
	s := &Skills{list: list, byName: make(map[string]*Skill, len(list))}
	for i := range list {
		s.byName[list[i].Name] = &list[i]
	}
	s.finder = sync.OnceValue(func() *catalog.Finder {
		items := make([]catalog.Item, len(list))
		for i := range list {
			items[i] = catalog.Item{Name: list[i].Name, Description: list[i].Description}
		}
		return catalog.NewFinder(items)
	})
	return s
}

// skillsLocal answers skills.list, skills.read and skills.search.
func (p *port) skillsLocal(kind string, payload schemas.JSON) cell.Local {
	if p.skills == nil {
		return refuse("Error", kind+" is unavailable: this host has no folders of skills")
	}
	var ask struct {
		Name  string   `json:"name"`
		Query string   `json:"query"`
		Limit *float64 `json:"limit"`
	}
	if err := json.Unmarshal(payload, &ask); err != nil {
		return refuse("TypeError", "malformed "+kind+" request")
	}
	switch kind {
	case "skills.list":
		return cell.Local{Value: compact(append([]Skill{}, p.skills.list...))}
	case "skills.search":
		return p.searchSkills(ask.Query, ask.Limit)
	}
	skill := p.skills.byName[ask.Name]
	switch {
	case skill == nil:
		return refuse("Error", "skills.read: there is no skill "+strconv.QuoteToGraphic(prefix(ask.Name, 80))+": "+p.skills.names())
	case skill.Unreadable != "":
		return refuse("Error", "skills.read: "+skill.Name+" can't be read whole: "+skill.Unreadable)
	}
	return cell.Local{Value: compact(skill.Text)}
}

func (p *port) searchSkills(query string, limit *float64) cell.Local {
	limits := &p.admission.Limits
	n := limits.SearchDefault
	if limit != nil {
		if *limit < 1 || *limit != math.Trunc(*limit) {
			return refuse("RangeError", "skills.search: limit must be a positive integer")
		}
		n = int(min(*limit, float64(limits.SearchMax)))
	}
	found := []Skill{}
	for _, i := range p.skills.finder().Search(query, n) {
		found = append(found, p.skills.list[i])
	}
	return cell.Local{Value: compact(found)}
}

// maxNamed bounds the names that a refusal lists, in bytes.
const maxNamed = 2000

// names says which skills there are.
func (s *Skills) names() string {
	if len(s.list) == 0 {
		return "there are no skills"
	}
	var b strings.Builder
	b.WriteString("there are ")
	for i := range s.list {
		if b.Len() > maxNamed {
			fmt.Fprintf(&b, " and %d more, see skills.list()", len(s.list)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.list[i].Name)
	}
	return b.String()
}
