package agent

// Session is one conversation.
type Session struct{}
