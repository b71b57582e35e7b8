// Package house holds the tests that keep the architecture what
// docs/architecture.md says it is: which package may import which, that each
// says what it is, and that internal/workspace alone reads workspace files.
package house
