package lsp

import (
	"context"
	"fmt"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/stella-ls/stella-ls/guard"
	"github.com/stella-ls/stella-ls/internal/workspace"
)

// editor is the guard's Editor: the compare-and-set on an open document. Our
// extensions do it themselves (stella/applyEdit). A plain client gets a
// versioned workspace/applyEdit, whose answer proves nothing: the guard waits
// for the mirror in both cases.
type editor struct{ s *Server }

func (e *editor) Abilities() guard.EditorAbilities {
	c := e.s.client.caps
	return guard.EditorAbilities{CompareAndSet: c.stella.ApplyEdit, ApplyEdit: c.applyEdit, Versioned: c.documentChanges}
}

func (e *editor) Apply(ctx context.Context, w guard.EditorWrite) (guard.EditorAnswer, error) {
	edits := e.s.counting.splices(w.Buffer.Text, w.Splices)
	c := e.s.client.caps
	switch {
	case c.stella.ApplyEdit:
		return e.compareAndSet(ctx, w, edits)
	case !c.applyEdit || !c.documentChanges:
		return refused("error", "the editor cannot apply versioned edits"), nil
	case w.Buffer.Version == 0:
		// Neovim applies an edit for version 0 however old it is.
		return refused("version", "the editor has not numbered this buffer yet"), nil
	default:
		return e.versioned(ctx, w, edits)
	}
}

func refused(reason, detail string) guard.EditorAnswer {
	return guard.EditorAnswer{Reason: reason, SaveReason: detail}
}

func (e *editor) compareAndSet(ctx context.Context, w guard.EditorWrite, edits []TextEdit) (guard.EditorAnswer, error) {
	var r ApplyEditResult
	err := e.s.client.call(ctx, editDeadline, MethodApplyEdit, &ApplyEditParams{
		URI: w.Buffer.URI, Version: w.Buffer.Version, SHA256: string(w.Buffer.Digest),
		Edits: edits, Save: w.Save, Label: w.Label,
	}, &r)
	if err != nil {
		return guard.EditorAnswer{}, fmt.Errorf("the editor's answer to an edit of %s is missing: %w", w.Buffer.URI, err)
	}
	return guard.EditorAnswer{
		Applied: r.Applied, Reason: r.Reason, Version: r.Version, SHA256Applied: workspace.Digest(r.SHA256Applied),
		Saved: r.Saved, SaveReason: r.SaveReason, SHA256After: workspace.Digest(r.SHA256After),
	}, nil
}

func (e *editor) versioned(ctx context.Context, w guard.EditorWrite, edits []TextEdit) (guard.EditorAnswer, error) {
	elements := make([]protocol.TextDocumentEditElement, len(edits))
	for i, edit := range edits {
		elements[i] = &protocol.TextEdit{Range: rangeToLSP(edit.Range), NewText: edit.NewText}
	}
	version := w.Buffer.Version
	doc := &protocol.TextDocumentEdit{Edits: elements}
	doc.TextDocument.URI = uri.URI(w.Buffer.URI)
	doc.TextDocument.Version = &version
	var r protocol.ApplyWorkspaceEditResult
	err := e.s.client.call(ctx, editDeadline, protocol.MethodWorkspaceApplyEdit, &protocol.ApplyWorkspaceEditParams{
		Label: &w.Label, Edit: protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{doc}},
	}, &r)
	if err != nil {
		return guard.EditorAnswer{}, fmt.Errorf("the editor's answer to an edit of %s is missing: %w", w.Buffer.URI, err)
	}
	a := guard.EditorAnswer{Applied: r.Applied, SaveReason: "a plain client cannot save on request"}
	if !r.Applied {
		a.Reason = "version"
		if r.FailureReason != nil && *r.FailureReason != "" {
			a.SaveReason = *r.FailureReason
		}
	}
	return a, nil
}
