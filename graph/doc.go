// Package graph answers structural questions about a workspace from a
// tree-sitter index: where is this defined, who uses it, what does this file
// import, who imports it, what stands next to it.
//
// How a file becomes an answer:
//
//	text --sitter--> captures --extract--> facts.File --facts.Encode--> one blob
//	                 (queries.scm)         (definitions,   kept in the store by
//	                                        occurrences,   the digest of the text)
//	                                        scopes, imports)
//
// An open buffer keeps its tree: a change is parsed incrementally, the facts of the
// top-level pieces that it touches are made again, types included, and those of all
// others are moved (extract.Worker.Again).
//
// A file's facts depend on nothing but its own bytes, so they are cached by
// content and shared by all worktrees. Everything that involves two files (what
// an import points at, which definition a name means) is worked out when it is
// asked for, and remembered until a file that it looked at changes.
//
// The pieces: sitter is the only code that talks to the C library; extract
// turns query captures into facts; each folder of lang holds one language's
// grammar, queries and import rules; facts is the model and its encoding; store
// is SQLite. This package holds the index of the workspace in memory (small:
// paths and hashes of names), keeps it fresh, resolves and answers.
//
// Invariants:
//   - An answer says how it was found (How). A guess by name is never mixed
//     with an answer that was resolved.
//   - Open buffers overlay the disk. Stored facts always describe the disk.
//   - Queries never wait for a pass; what is not indexed yet is said.
//   - A tree lives as long as its open document; everything else is freed at once.
package graph
