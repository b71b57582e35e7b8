// The part of the tree-sitter C API that this package uses, declared here
// because the header of another module cannot be included from ours. The
// declarations are those of tree_sitter/api.h at the pinned version 0.25.0.
// They are weak so that cgo's trial link, which has no tree-sitter object yet,
// succeeds; the final link finds them in go-tree-sitter.
#ifndef STELLA_SITTER_H
#define STELLA_SITTER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct TSLanguage TSLanguage;
typedef struct TSParser TSParser;
typedef struct TSTree TSTree;
typedef struct TSQuery TSQuery;
typedef struct TSQueryCursor TSQueryCursor;
typedef struct { uint32_t row, column; } TSPoint;
typedef struct {
  uint32_t start_byte, old_end_byte, new_end_byte;
  TSPoint start_point, old_end_point, new_end_point;
} TSInputEdit;
typedef struct { uint32_t context[4]; const void *id; const TSTree *tree; } TSNode;
typedef struct { const void *tree; const void *id; uint32_t context[3]; } TSTreeCursor;
typedef struct { TSNode node; uint32_t index; } TSQueryCapture;
typedef struct {
  uint32_t id;
  uint16_t pattern_index, capture_count;
  const TSQueryCapture *captures;
} TSQueryMatch;

#define WEAK __attribute__((weak))
extern void ts_set_allocator(void *(*)(size_t), void *(*)(size_t, size_t), void *(*)(void *, size_t), void (*)(void *)) WEAK;
extern TSParser *ts_parser_new(void) WEAK;
extern void ts_parser_delete(TSParser *) WEAK;
extern bool ts_parser_set_language(TSParser *, const TSLanguage *) WEAK;
extern TSTree *ts_parser_parse_string(TSParser *, const TSTree *, const char *, uint32_t) WEAK;
extern void ts_parser_reset(TSParser *) WEAK;
extern void ts_parser_set_timeout_micros(TSParser *, uint64_t) WEAK;
extern void ts_parser_set_cancellation_flag(TSParser *, const size_t *) WEAK;
extern void ts_tree_delete(TSTree *) WEAK;
extern TSTree *ts_tree_copy(const TSTree *) WEAK;
extern TSNode ts_tree_root_node(const TSTree *) WEAK;
extern void ts_tree_edit(TSTree *, const TSInputEdit *) WEAK;
extern const char *ts_node_type(TSNode) WEAK;
extern uint16_t ts_node_symbol(TSNode) WEAK;
extern uint32_t ts_node_start_byte(TSNode) WEAK;
extern uint32_t ts_node_end_byte(TSNode) WEAK;
extern bool ts_node_is_named(TSNode) WEAK;
extern bool ts_node_is_missing(TSNode) WEAK;
extern bool ts_node_is_error(TSNode) WEAK;
extern bool ts_node_has_error(TSNode) WEAK;
extern uint32_t ts_node_child_count(TSNode) WEAK;
extern uint32_t ts_node_descendant_count(TSNode) WEAK;
extern uint16_t ts_node_parse_state(TSNode) WEAK;
extern TSTreeCursor ts_tree_cursor_new(TSNode) WEAK;
extern void ts_tree_cursor_delete(TSTreeCursor *) WEAK;
extern TSNode ts_tree_cursor_current_node(const TSTreeCursor *) WEAK;
extern bool ts_tree_cursor_goto_parent(TSTreeCursor *) WEAK;
extern bool ts_tree_cursor_goto_next_sibling(TSTreeCursor *) WEAK;
extern bool ts_tree_cursor_goto_first_child(TSTreeCursor *) WEAK;
extern int64_t ts_tree_cursor_goto_first_child_for_byte(TSTreeCursor *, uint32_t) WEAK;
extern uint16_t ts_tree_cursor_current_field_id(const TSTreeCursor *) WEAK;
extern uint32_t ts_language_field_count(const TSLanguage *) WEAK;
extern const char *ts_language_field_name_for_id(const TSLanguage *, uint16_t) WEAK;
extern TSQuery *ts_query_new(const TSLanguage *, const char *, uint32_t, uint32_t *, int *) WEAK;
extern void ts_query_delete(TSQuery *) WEAK;
extern uint32_t ts_query_capture_count(const TSQuery *) WEAK;
extern uint32_t ts_query_pattern_count(const TSQuery *) WEAK;
extern const char *ts_query_capture_name_for_id(const TSQuery *, uint32_t, uint32_t *) WEAK;
extern TSQueryCursor *ts_query_cursor_new(void) WEAK;
extern void ts_query_cursor_delete(TSQueryCursor *) WEAK;
extern void ts_query_cursor_exec(TSQueryCursor *, const TSQuery *, TSNode) WEAK;
extern bool ts_query_cursor_next_match(TSQueryCursor *, TSQueryMatch *) WEAK;
extern bool ts_query_cursor_did_exceed_match_limit(const TSQueryCursor *) WEAK;
extern void ts_query_cursor_set_match_limit(TSQueryCursor *, uint32_t) WEAK;
extern bool ts_query_cursor_set_byte_range(TSQueryCursor *, uint32_t, uint32_t) WEAK;
extern uint32_t ts_language_symbol_count(const TSLanguage *) WEAK;
extern const char *ts_language_symbol_name(const TSLanguage *, uint16_t) WEAK;

// One capture of one match. The layout is mirrored by the Go type Capture.
typedef struct {
  uint32_t match;
  uint32_t start, end;
  uint16_t capture, symbol;
} st_capture;

// A growing array of captures, owned by a worker and reused.
typedef struct { st_capture *v; size_t len, cap; bool exceeded; } st_buffer;

// A node of a path or of a list of errors.
typedef struct { uint32_t start, end; uint16_t symbol; uint8_t kind; uint8_t named; } st_node;

// A named node of a flat tree. The layout is that of the Go type syntax.Node.
typedef struct { uint32_t start, end; int32_t parent, next; uint16_t symbol, field; } st_flat;

// A growing array of flat nodes, owned by a worker and reused.
typedef struct { st_flat *v; size_t len, cap; } st_flat_buffer;

int st_use_c_allocator(void);
bool st_flatten(const TSTree *t, uint32_t from, uint32_t to, st_flat_buffer *out);
bool st_region(const TSTree *t, const uint8_t *quiet, uint32_t symbols, uint32_t *before, uint32_t *lo, uint32_t *hi);
bool st_run(TSQueryCursor *c, const TSQuery *q, const TSTree *t, uint32_t from, uint32_t to, st_buffer *out);
uint32_t st_errors(const TSTree *t, uint32_t from, uint32_t to, st_node *out, uint32_t max);
bool st_changed(const TSTree *a, const TSTree *b, uint32_t *from, uint32_t *to);
uint32_t st_path(const TSTree *t, uint32_t at, st_node *out, uint32_t max);
uint32_t st_multiline(const TSTree *t, const char *text, st_node *out, uint32_t max);
bool st_has_error(const TSTree *t);
uint32_t st_count_nodes(const TSTree *t);
#endif
