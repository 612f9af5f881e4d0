package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// vocabulary is drawn from with a long tail, as real texts are.
var vocabulary = func() []string {
	verbs := strings.Fields("get list create update delete search send find fetch upload download convert analyze compute schedule cancel approve archive assign merge")
	nouns := strings.Fields("user invoice issue file email message calendar event payment report image video weather stock price flight hotel recipe movie song team match order product customer account token branch commit review")
	var words []string
	for _, verb := range verbs {
		for _, noun := range nouns {
			words = append(words, verb, noun, verb+noun)
		}
	}
	return words
}()

func phrase(r *rand.Rand, words int) string {
	picked := make([]string, words)
	for i := range picked {
		picked[i] = vocabulary[int(r.Float64()*r.Float64()*float64(len(vocabulary)))]
	}
	return strings.Join(picked, " ")
}

// made gives n different tools with schemas; every other one is of an MCP server if mixed.
func made(n int, mixed bool) []schemas.Tool {
	r := rand.New(rand.NewPCG(1, 2))
	tools := make([]schemas.Tool, n)
	for i := range tools {
		name := strings.ReplaceAll(phrase(r, 2), " ", "_") + fmt.Sprintf("_%d", i)
		tools[i] = native("plugin", name, describedAs(phrase(r, 14)), taking(fmt.Sprintf(
			`{"type":"object","properties":{%q:{"type":"string","description":%q},%q:{"type":"integer","default":1,"description":%q},"mode":{"enum":["a","b"]}},"required":[%q]}`,
			"first", phrase(r, 6), "second", phrase(r, 5), "first")))
		if mixed && i%2 == 1 {
			tools[i].Source, tools[i].Owner = schemas.SourceMCP, fmt.Sprintf("server%d", i%20)
		}
	}
	return tools
}

func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 300, 8904} {
		for _, mixed := range []bool{false, true} {
			kind := "native"
			if mixed {
				kind = "mixed"
			}
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				tools := made(n, mixed)
				b.ReportAllocs()
				for b.Loop() {
					if c, _ := Build(tools, Options{}); c.Size() != n {
						b.Fatal(c.Size())
					}
				}
			})
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{10, 300, 8904} {
		for _, words := range []int{3, 40} {
			b.Run(fmt.Sprintf("%d/words=%d", n, words), func(b *testing.B) {
				c, _ := Build(made(n, false), Options{})
				r := rand.New(rand.NewPCG(3, 4))
				queries := make([]string, 64)
				for i := range queries {
					queries[i] = phrase(r, words)
				}
				if _, err := c.Search("warm up", 8); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if _, err := c.Search(queries[i%len(queries)], 8); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{10, 300, 8904} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, _ := Build(made(n, false), Options{})
			for b.Loop() {
				newIndex(c.entries)
			}
		})
	}
}

func BenchmarkDeclare(b *testing.B) {
	c, _ := Build(made(1, false), Options{})
	for b.Loop() {
		declareGlobal(c.entries[0])
	}
}
