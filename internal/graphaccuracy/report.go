package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/stella-ls/stella-ls/graph"
)

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

func (c *comparison) print(ours, whole, theirs time.Duration) {
	line := func(what string, m map[string]*score, right, total int, related string) {
		var all score
		var by []string
		for how, s := range m {
			if how != string(graph.HowName) {
				all.right, all.wrong, all.unknown = all.right+s.right, all.wrong+s.wrong, all.unknown+s.unknown
			}
			by = append(by, fmt.Sprintf("%s %d/%d", how, s.right, s.right+s.wrong))
		}
		sort.Strings(by)
		fmt.Printf("| %s | %s | %s (%d of %d) | %s (%d of %d) | %s | %d | %s |\n", *name, what, percent(all.right, all.right+all.wrong), all.right, all.right+all.wrong,
			percent(right, total), right, total, strings.Join(by, ", "), all.unknown, related)
	}
	line("definitions", c.defs, c.resolved, c.asked, "")
	all, right, missed, related := map[string]*score{}, 0, 0, 0
	for _, group := range []string{"functions, classes, types", "fields, properties, variables"} {
		line("references of "+group, c.refsBy[group], c.right[group], c.right[group]+c.missed[group], fmt.Sprint(c.related[group]))
		for how, s := range c.refsBy[group] {
			t := count(all, graph.How(how))
			t.right, t.wrong, t.unknown = t.right+s.right, t.wrong+s.wrong, t.unknown+s.unknown
		}
		right, missed, related = right+c.right[group], missed+c.missed[group], related+c.related[group]
	}
	line("references", all, right, right+missed, fmt.Sprint(related))
	if *answers == "" {
		fmt.Printf("| %s | first cross-file definition | ours: %.2f s (everything indexed after %.2f s) | server: %.2f s | %.1f x | | |\n", *name, ours.Seconds(), whole.Seconds(), theirs.Seconds(), theirs.Seconds()/ours.Seconds())
	}
}
