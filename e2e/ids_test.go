package e2e

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// proved are the requirements that must have a test which names them, by letter and last number.
var proved = map[string]int{
	"F": 6, "A": 7, "X": 13, "W": 6, "Q": 5, "R": 3, "S": 10, "E": 5, "C": 9, "G": 11, "M": 7, "N": 2, "K": 3, "O": 5, "T": 4, "P": 8,
	"J": 2, "L": 6, "B": 5, "V": 4,
}

// provedCases are the failures that must have a test which names them as Case<n>: those of Tool Search.
var provedCases = []int{48, 50, 51, 52, 53, 54, 55}

var testName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// TestTree_EveryRequirementHasATest reads the names of all tests: a requirement or a case that none names isn't proved.
func TestTree_EveryRequirementHasATest(t *testing.T) {
	named := map[string]bool{}
	id := regexp.MustCompile(`^(?:[A-Z]|Case)[0-9]+$`)
	for path, content := range sources(t) {
		if filepath.Ext(path) != ".go" || !strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range testName.FindAllSubmatch(content, -1) {
			for part := range strings.SplitSeq(string(m[1]), "_") {
				if id.MatchString(part) {
					named[part] = true
				}
			}
		}
	}
	for letter, last := range proved {
		for n := 1; n <= last; n++ {
			if id := letter + strconv.Itoa(n); !named[id] {
				t.Errorf("no test names %s", id)
			}
		}
	}
	for _, n := range provedCases {
		if id := "Case" + strconv.Itoa(n); !named[id] {
			t.Errorf("no test names %s", id)
		}
	}
}
