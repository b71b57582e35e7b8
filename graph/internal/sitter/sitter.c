#include "sitter.h"

// go-tree-sitter installs Go callbacks as the allocator, which sends every
// allocation of the C library through Go and back. NULL restores malloc.
int st_use_c_allocator(void) {
  if (!ts_set_allocator) return 0;
  ts_set_allocator(NULL, NULL, NULL, NULL);
  return 1;
}

// st_run collects all captures of a query over [from, to) in one crossing from
// Go to C. It returns false when memory ran out.
bool st_run(TSQueryCursor *c, const TSQuery *q, const TSTree *t, uint32_t from, uint32_t to, st_buffer *out) {
  out->len = 0;
  ts_query_cursor_set_byte_range(c, from, to);
  ts_query_cursor_exec(c, q, ts_tree_root_node(t));
  TSQueryMatch m;
  uint32_t n = 0;
  while (ts_query_cursor_next_match(c, &m)) {
    if (out->len + m.capture_count > out->cap) {
      size_t cap = out->cap ? out->cap * 2 : 4096;
      while (cap < out->len + m.capture_count) cap *= 2;
      st_capture *v = realloc(out->v, cap * sizeof *v);
      if (!v) return false;
      out->v = v;
      out->cap = cap;
    }
    for (uint16_t i = 0; i < m.capture_count; i++) {
      TSNode node = m.captures[i].node;
      st_capture *o = &out->v[out->len++];
      o->match = n;
      o->start = ts_node_start_byte(node);
      o->end = ts_node_end_byte(node);
      o->capture = (uint16_t)m.captures[i].index;
      o->symbol = ts_node_symbol(node);
    }
    n++;
  }
  out->exceeded = ts_query_cursor_did_exceed_match_limit(c);
  return true;
}

bool st_has_error(const TSTree *t) { return ts_node_has_error(ts_tree_root_node(t)); }

// st_down goes to the first child, or among the root's to one shortly before from:
// the library finds it without looking at all before it.
static bool st_down(TSTreeCursor *c, uint32_t depth, uint32_t from) {
  if (depth == 0 && from > 0) return ts_tree_cursor_goto_first_child_for_byte(c, from) >= 0;
  return ts_tree_cursor_goto_first_child(c);
}

// st_errors lists error and missing nodes in document order, not descending
// into subtrees without errors, of the root's children within [from, to), or of
// the root itself. kind is 1 for an error, 2 for a missing token.
uint32_t st_errors(const TSTree *t, uint32_t from, uint32_t to, st_node *out, uint32_t max) {
  TSNode root = ts_tree_root_node(t);
  if (!ts_node_has_error(root)) return 0;
  TSTreeCursor c = ts_tree_cursor_new(root);
  uint32_t n = 0, depth = 0;
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&c);
    bool skip = depth == 1 && (ts_node_start_byte(node) < from || ts_node_end_byte(node) > to);
    bool error = ts_node_is_error(node), missing = ts_node_is_missing(node);
    if (!skip && (error || missing)) {
      if (n < max) {
        st_node *o = &out[n];
        o->start = ts_node_start_byte(node);
        o->end = ts_node_end_byte(node);
        o->symbol = ts_node_symbol(node);
        o->kind = error ? 1 : 2;
        o->named = ts_node_is_named(node);
      }
      if (++n >= max) break;
    }
    if (!skip && !error && ts_node_has_error(node) && st_down(&c, depth, from)) {
      depth++;
      continue;
    }
    bool done = depth == 1 && ts_node_start_byte(node) >= to;
    if (done) break;
    while (!ts_tree_cursor_goto_next_sibling(&c)) {
      if (!ts_tree_cursor_goto_parent(&c)) { done = true; break; }
      depth--;
    }
    if (done) break;
  }
  ts_tree_cursor_delete(&c);
  return n;
}

static bool st_same(TSNode x, TSNode y) {
  // A node's id is where its parent holds the subtree; what stands there is the
  // subtree itself, which an incremental parse shares between both trees.
  if (ts_node_start_byte(x) != ts_node_start_byte(y)) return false;
  if (ts_node_symbol(x) != ts_node_symbol(y)) return false;
  if (*(const void *const *)x.id == *(const void *const *)y.id) return true;
  return ts_node_end_byte(x) == ts_node_end_byte(y) &&
         ts_node_parse_state(x) == ts_node_parse_state(y) &&
         ts_node_has_error(x) == ts_node_has_error(y) &&
         ts_node_descendant_count(x) == ts_node_descendant_count(y);
}

// st_changed finds where the children of two roots differ: from the first that
// is in one of them only to the last. a was edited to fit b's text.
bool st_changed(const TSTree *a, const TSTree *b, uint32_t *from, uint32_t *to) {
  TSNode ra = ts_tree_root_node(a), rb = ts_tree_root_node(b);
  *from = 0;
  *to = UINT32_MAX;
  if (ts_node_symbol(ra) != ts_node_symbol(rb)) return true;
  TSTreeCursor ca = ts_tree_cursor_new(ra), cb = ts_tree_cursor_new(rb);
  bool ia = ts_tree_cursor_goto_first_child(&ca), ib = ts_tree_cursor_goto_first_child(&cb);
  bool differ = false;
  uint32_t lo = UINT32_MAX, hi = 0;
  while (ia || ib) {
    TSNode x, y;
    if (ia) x = ts_tree_cursor_current_node(&ca);
    if (ib) y = ts_tree_cursor_current_node(&cb);
    if (ia && ib && st_same(x, y)) {
      ia = ts_tree_cursor_goto_next_sibling(&ca);
      ib = ts_tree_cursor_goto_next_sibling(&cb);
      continue;
    }
    // What begins first is in one tree only, or in both and not the same.
    differ = true;
    uint32_t sx = ia ? ts_node_start_byte(x) : UINT32_MAX, sy = ib ? ts_node_start_byte(y) : UINT32_MAX;
    if (sx < lo) lo = sx;
    if (sy < lo) lo = sy;
    bool stepx = sx <= sy, stepy = sy <= sx;
    if (stepx) {
      if (ts_node_end_byte(x) > hi) hi = ts_node_end_byte(x);
      ia = ts_tree_cursor_goto_next_sibling(&ca);
    }
    if (stepy) {
      if (ts_node_end_byte(y) > hi) hi = ts_node_end_byte(y);
      ib = ts_tree_cursor_goto_next_sibling(&cb);
    }
  }
  ts_tree_cursor_delete(&ca);
  ts_tree_cursor_delete(&cb);
  *from = lo;
  *to = hi;
  return differ;
}

// st_groups is st_region with the root's children from byte at on; false when it
// would have to know what is before them.
static bool st_groups(TSNode root, const uint8_t *quiet, uint32_t symbols, uint32_t at, uint32_t *before, uint32_t *lo, uint32_t *hi) {
  TSTreeCursor c = ts_tree_cursor_new(root);
  uint32_t from = 0, to = UINT32_MAX, start = 0, last = 0, ends = at > 0 ? 0 : 2;
  bool in = false, over = false, known = true;
  bool more = st_down(&c, 0, at);
  for (; more && !over && known; more = ts_tree_cursor_goto_next_sibling(&c)) {
    TSNode node = ts_tree_cursor_current_node(&c);
    uint16_t symbol = ts_node_symbol(node);
    if (!ts_node_is_named(node) || (symbol < symbols && quiet[symbol])) continue;
    uint32_t end = ts_node_end_byte(node);
    if (!in && end >= *lo) {
      in = true;
      from = start;
      *before = last;
      known = ends >= 2;
    }
    if (in && start > *hi) {
      to = end;
      over = true;
    }
    last = start;
    start = end;
    ends++;
  }
  ts_tree_cursor_delete(&c);
  if (!in) {
    from = start;
    *before = last;
    known = ends >= 2;
  }
  if (!known) return false;
  *lo = from;
  *hi = to;
  return true;
}

// st_region widens [lo, hi] to whole groups of the root's children, and by the
// group after it. A group is what is quiet (comments, attributes, tokens without
// a name), then one child that is not; it reaches from the end of the group before.
// *before is where the group before them begins. It returns false when the root is no
// list of groups.
bool st_region(const TSTree *t, const uint8_t *quiet, uint32_t symbols, uint32_t *before, uint32_t *lo, uint32_t *hi) {
  TSNode root = ts_tree_root_node(t);
  if (ts_node_is_error(root)) return false;
  uint32_t at = *lo > 4096 ? *lo - 4096 : 0;
  if (!st_groups(root, quiet, symbols, at, before, lo, hi)) st_groups(root, quiet, symbols, 0, before, lo, hi);
  return true;
}

// st_path lists the nodes around a byte, outermost first.
uint32_t st_path(const TSTree *t, uint32_t at, st_node *out, uint32_t max) {
  TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(t));
  uint32_t n = 0;
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&c);
    if (ts_node_start_byte(node) > at || ts_node_end_byte(node) < at || n >= max) break;
    out[n].start = ts_node_start_byte(node);
    out[n].end = ts_node_end_byte(node);
    out[n].symbol = ts_node_symbol(node);
    out[n].named = ts_node_is_named(node);
    n++;
    if (ts_tree_cursor_goto_first_child_for_byte(&c, at) < 0) break;
  }
  ts_tree_cursor_delete(&c);
  return n;
}

// st_multiline lists named nodes that span more than one line and are not
// alone on the same range as their parent.
uint32_t st_multiline(const TSTree *t, const char *text, st_node *out, uint32_t max) {
  TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(t));
  uint32_t n = 0;
  bool up = true;
  if (!ts_tree_cursor_goto_first_child(&c)) { ts_tree_cursor_delete(&c); return 0; }
  while (up && n < max) {
    TSNode node = ts_tree_cursor_current_node(&c);
    uint32_t s = ts_node_start_byte(node), e = ts_node_end_byte(node);
    bool lines = false;
    for (uint32_t i = s; i < e; i++) if (text[i] == '\n') { lines = true; break; }
    if (lines && ts_node_is_named(node)) {
      out[n].start = s; out[n].end = e;
      out[n].symbol = ts_node_symbol(node);
      out[n].named = 1;
      n++;
    }
    if (lines && ts_tree_cursor_goto_first_child(&c)) continue;
    while (!ts_tree_cursor_goto_next_sibling(&c)) {
      if (!ts_tree_cursor_goto_parent(&c)) { up = false; break; }
    }
  }
  ts_tree_cursor_delete(&c);
  return n;
}

// st_flatten lists the root and all named nodes in those of its children that lie
// within [from, to), parents before children, in one crossing from Go to C. It
// returns false when memory ran out.
bool st_flatten(const TSTree *t, uint32_t from, uint32_t to, st_flat_buffer *out) {
  TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(t));
  out->len = 0;
  int32_t parent = -1;
  bool ok = true;
  for (;;) {
    TSNode node = ts_tree_cursor_current_node(&c);
    bool named = ts_node_is_named(node), down = false;
    if (named && parent == 0 && (from || to != UINT32_MAX)) {
      if (ts_node_start_byte(node) >= to) break;
      named = ts_node_start_byte(node) >= from && ts_node_end_byte(node) <= to;
    }
    if (named) {
      if (out->len == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 4096;
        st_flat *v = realloc(out->v, cap * sizeof *v);
        if (!v) { ok = false; break; }
        out->v = v;
        out->cap = cap;
      }
      int32_t self = (int32_t)out->len++;
      st_flat *o = &out->v[self];
      o->start = ts_node_start_byte(node);
      o->end = ts_node_end_byte(node);
      o->parent = parent;
      o->next = self + 1;
      o->symbol = ts_node_symbol(node);
      o->field = ts_tree_cursor_current_field_id(&c);
      down = st_down(&c, self == 0 ? 0 : 1, from);
      if (down) parent = self;
    }
    if (down) continue;
    bool done = false;
    while (!ts_tree_cursor_goto_next_sibling(&c)) {
      if (parent < 0 || !ts_tree_cursor_goto_parent(&c)) { done = true; break; }
      out->v[parent].next = (int32_t)out->len;
      parent = out->v[parent].parent;
    }
    if (done) break;
  }
  if (out->len > 0) out->v[0].next = (int32_t)out->len;
  ts_tree_cursor_delete(&c);
  return ok;
}

// st_count_nodes walks the whole tree; the benchmarks' floor uses it.
uint32_t st_count_nodes(const TSTree *t) {
  TSTreeCursor c = ts_tree_cursor_new(ts_tree_root_node(t));
  uint32_t n = 0;
  for (;;) {
    n++;
    if (ts_tree_cursor_goto_first_child(&c)) continue;
    bool done = false;
    while (!ts_tree_cursor_goto_next_sibling(&c)) {
      if (!ts_tree_cursor_goto_parent(&c)) { done = true; break; }
    }
    if (done) break;
  }
  ts_tree_cursor_delete(&c);
  return n;
}
