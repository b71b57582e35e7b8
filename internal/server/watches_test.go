package server

import (
	"strings"
	"testing"

	"github.com/stella-ls/stella-ls/graph"
)

func TestWatchesInWords(t *testing.T) {
	for _, c := range []struct {
		got          Check
		status, text string
	}{
		{watchesNeeded(13, true, 8192), checkOK, "takes 13 watches"},
		{watchesNeeded(5000, true, 8192), checkWarn, "may leave too few"},
		{watchesNeeded(9000, true, 8192), checkWarn, "beyond the limit"},
		{watchesNeeded(9, false, 8192), checkWarn, "more than 9 watches"},
		{watchesNow(&graph.IndexStatus{Watching: "editor"}, 8192), checkOK, "by the editor; 0 folders"},
		{watchesNow(&graph.IndexStatus{Watching: "inotify", Watches: 7}, 8192), checkOK, "7 folders are watched, of up to 8192"},
		{watchesNow(&graph.IndexStatus{Watching: "inotify", Watches: 7}, 0), checkOK, "7 folders are watched"},
		{watchesNow(&graph.IndexStatus{Watching: "inotify, in part", Watches: 100}, 100), checkWarn, "only 100 folders"},
		{watchesNow(&graph.IndexStatus{Watching: "reconcile only"}, 100), checkWarn, "0 folders"},
		{watchesNow(&graph.IndexStatus{}, 100), checkOK, "not begun"},
	} {
		if c.got.Status != c.status || !strings.Contains(c.got.Detail, c.text) || (c.status == checkWarn) != (c.got.Hint != "") {
			t.Errorf("%+v, want %s %q", c.got, c.status, c.text)
		}
	}
}
