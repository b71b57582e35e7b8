package tools

// Permissions decides what may run.
type Permissions struct{}
