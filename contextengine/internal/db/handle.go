package db

import (
	"context"
	"database/sql"
	"sync"
)

// Handle reads. It keeps the statements of queries that come again and again,
// since preparing one costs more than running it.
type Handle struct {
	db *sql.DB

	mu    sync.Mutex // guards stmts
	stmts map[string]*sql.Stmt
}

// maxStatements bounds what is kept; queries beyond it are prepared each time.
const maxStatements = 200

func newHandle(db *sql.DB) *Handle { return &Handle{db: db, stmts: map[string]*sql.Stmt{}} }

func (h *Handle) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.stmts[query]; s != nil {
		return s, nil
	}
	if len(h.stmts) >= maxStatements {
		return nil, nil
	}
	s, err := h.db.PrepareContext(ctx, query)
	if err == nil {
		h.stmts[query] = s
	}
	return s, err
}

// QueryContext is sql.DB's.
func (h *Handle) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := h.stmt(ctx, query)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return h.db.QueryContext(ctx, query, args...)
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext is sql.DB's.
func (h *Handle) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s, err := h.stmt(ctx, query); err == nil && s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return h.db.QueryRowContext(ctx, query, args...)
}
