// Package commit puts bytes at a path that other programs may be writing at the
// same moment, and loses nobody's bytes. It is the disk half of the guard's
// transaction: candidate to a sibling temporary, durable intent, read lease,
// compare, exchange of names, parking of what came out, restore when somebody
// raced. Every version of a file that was written by others and passed through
// its hands is either back at the path or in the Displaced store.
package commit
