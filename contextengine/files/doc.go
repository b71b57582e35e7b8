// Package files is the plain-text half of the context engine: the layout of
// .stella/, and the memories, rules, skills and domains that people read, edit
// and commit.
//
// Reading trusts nothing: only regular files (a link could point anywhere),
// bounded in size, valid UTF-8; what cannot be read is reported by name, and
// never stands for "nothing there". Writing is atomic and asks the file system,
// not a cache: a create fails when the name is taken, a replacement fails when
// the content is not the one it was made from.
package files
