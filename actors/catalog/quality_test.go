package catalog

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// qualityFolder names a folder of <set>.tools.jsonl and <set>.queries.jsonl files: public tool-search
// sets with the tools that are right for each query.
const qualityFolder = "CODECELL_TOOLSEARCH"

// qualitySets are the query files and the catalog that each is asked of.
var qualitySets = [...][2]string{
	{"livemcpbench", "livemcpbench"}, {"livemcpbench_steps", "livemcpbench"}, {"livemcpbench_agent", "livemcpbench"},
	{"stabletoolbench", "stabletoolbench"}, {"bfcl", "bfcl"}, {"sealtools", "sealtools"}, {"metatool", "metatool"},
	{"metatool_multi", "metatool"}, {"restbench", "restbench"},
}

type labelledTool struct {
	ID          string       `json:"id"`
	Server      string       `json:"server"`
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Parameters  schemas.JSON `json:"parameters"`
}

type labelledQuery struct {
	Query string              `json:"query"`
	Gold  []string            `json:"gold"`
	Equiv map[string][]string `json:"equiv"`
}

// BenchmarkSpec_C9_Quality measures how well search ranks, on the sets in the folder that CODECELL_TOOLSEARCH
// names. It reports nDCG@10, recall@8 and hit@1, for each set's own catalog and for all catalogs at once.
func BenchmarkSpec_C9_Quality(b *testing.B) {
	folder := os.Getenv(qualityFolder)
	if folder == "" {
		b.Skip("set " + qualityFolder + " to a folder of tool-search sets to measure the ranking")
	}
	catalogs := make(map[string][]labelledTool)
	var all []labelledTool
	for _, set := range qualitySets {
		if _, ok := catalogs[set[1]]; !ok {
			catalogs[set[1]] = readLines[labelledTool](b, filepath.Join(folder, set[1]+".tools.jsonl"))
			for _, t := range catalogs[set[1]] {
				t.ID = set[1] + ":" + t.ID
				all = append(all, t)
			}
		}
	}
	for _, scope := range []string{"own", "union"} {
		union, unionIDs := indexOf(all)
		var sum quality
		for _, set := range qualitySets {
			x, ids := union, unionIDs
			prefix := set[1] + ":"
			if scope == "own" {
				x, ids = indexOf(catalogs[set[1]])
				prefix = ""
			}
			queries := readLines[labelledQuery](b, filepath.Join(folder, set[0]+".queries.jsonl"))
			b.Run(scope+"/"+set[0], func(b *testing.B) {
				var q quality
				for b.Loop() {
					q = measure(x, ids, prefix, queries)
				}
				q.report(b)
				sum.add(q)
			})
		}
		b.Run(scope+"/mean", func(b *testing.B) {
			for b.Loop() {
			}
			mean := sum
			mean.scale(1 / float64(len(qualitySets)))
			mean.report(b)
		})
	}
}

type quality struct {
	ndcg, recall, hit float64
	p50, p99          float64 // microseconds
}

func (q *quality) add(o quality) {
	q.ndcg, q.recall, q.hit, q.p50, q.p99 = q.ndcg+o.ndcg, q.recall+o.recall, q.hit+o.hit, q.p50+o.p50, q.p99+o.p99
}

func (q *quality) scale(f float64) {
	q.ndcg, q.recall, q.hit, q.p50, q.p99 = q.ndcg*f, q.recall*f, q.hit*f, q.p50*f, q.p99*f
}

func (q *quality) report(b *testing.B) {
	b.ReportMetric(q.ndcg, "nDCG@10")
	b.ReportMetric(q.recall, "recall@8")
	b.ReportMetric(q.hit, "hit@1")
	b.ReportMetric(q.p50, "p50-µs")
	b.ReportMetric(q.p99, "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// indexOf indexes labelled tools as trusted ones. Names aren't unique in the sets, so they are
// indexed without going through [Build].
func indexOf(tools []labelledTool) (*index, []string) {
	entries := make([]*Entry, len(tools))
	ids := make([]string, len(tools))
	for i, t := range tools {
		if string(t.Parameters) == "null" {
			t.Parameters = nil
		}
		owner := t.Server
		if owner == "" {
			owner = "core"
		}
		entries[i] = &Entry{Ref: i, Tool: schemas.Tool{
			Source: schemas.SourceNative, Owner: owner, Name: t.Name, Description: t.Description, Parameters: t.Parameters,
		}}
		ids[i] = t.ID
	}
	return newIndex(entries), ids
}

func measure(x *index, ids []string, prefix string, queries []labelledQuery) quality {
	var q quality
	times := make([]float64, 0, len(queries))
	for _, query := range queries {
		var refs []int
		best := math.Inf(1)
		for range 3 { // the best of three, since a machine is rarely idle
			begin := time.Now()
			refs = x.search(query.Query, 50)
			best = min(best, float64(time.Since(begin).Nanoseconds())/1000)
		}
		times = append(times, best)
		group := make(map[string]string)
		for _, gold := range query.Gold {
			group[prefix+gold] = gold
			for _, alike := range query.Equiv[gold] {
				if _, taken := group[prefix+alike]; !taken {
					group[prefix+alike] = gold
				}
			}
		}
		ranks := make(map[string]int)
		rank := 0
		for _, ref := range refs {
			gold, right := group[ids[ref]]
			if right && ranks[gold] > 0 {
				continue
			}
			if rank++; right {
				ranks[gold] = rank
			}
		}
		wanted := len(query.Gold)
		gain, ideal := 0.0, 0.0
		for _, r := range ranks {
			if r <= 10 {
				gain += 1 / math.Log2(float64(r)+1)
			}
			if r <= 8 {
				q.recall += 1 / float64(wanted)
			}
			if r == 1 {
				q.hit++
			}
		}
		for r := 1; r <= min(wanted, 10); r++ {
			ideal += 1 / math.Log2(float64(r)+1)
		}
		q.ndcg += gain / ideal
	}
	n := float64(len(queries))
	q.ndcg, q.recall, q.hit = q.ndcg/n, q.recall/n, q.hit/n
	slices.Sort(times)
	q.p50, q.p99 = times[len(times)/2], times[min(len(times)-1, len(times)*99/100)]
	return q
}

func readLines[T any](b *testing.B, path string) []T {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		b.Skip("there is no " + filepath.Base(path) + " in " + qualityFolder)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var out []T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			b.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}
