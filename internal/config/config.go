// Package config reads the settings: the user's file, the project's file and
// the editor's section, in this order, later wins. A project file may not loosen
// permissions, add a base URL or run anything before the workspace is trusted.
//
// Architecture: config.go holds the settings as one struct, from whose tags the
// checks (apply.go) and docs/settings.md (doc.go) are made. Load (load.go)
// reads the layers and reports Problems with file and line (tomltext.go);
// layers.go says what a project may not do. trust.go remembers trusted
// directories, always.go adds lasting permissions to the user's file, home.go
// finds the state directory.
package config

import "time"

// Settings is the whole of it; docs/settings.md is generated from this struct.
// The tags: doc is the sentence for people, values the allowed words, min the
// smallest number.
type Settings struct {
	Model       Model       `toml:"model" json:"model" doc:"Which model answers."`
	Guard       Guard       `toml:"guard" json:"guard" doc:"What the guard allows, and what runs on a candidate before it is written."`
	Recall      Recall      `toml:"recall" json:"recall" doc:"What is recalled from memory with a prompt."`
	Budget      Budget      `toml:"budget" json:"budget" doc:"Limits of a turn and of a session, checked between steps. 0 is no limit."`
	Graph       Graph       `toml:"graph" json:"graph" doc:"Whether this server answers definitions, references and the like."`
	Permissions Permissions `toml:"permissions" json:"permissions" doc:"What a session may do without asking. Reads are allowed."`
	Hooks       []Hook      `toml:"hook" json:"hook" doc:"Commands that run at certain events. All layers' hooks run."`
	Record      Record      `toml:"record" json:"record" doc:"What is kept of sessions, for resume and undo."`
	OCP         OCP         `toml:"ocp" json:"ocp" doc:"Other providers of context."`
}

type Model struct {
	Provider        string `toml:"provider" json:"provider" values:"anthropic|openai|script" doc:"Who speaks to the model: Anthropic, any OpenAI-compatible server, or a script. Unset: the first of ANTHROPIC_API_KEY and OPENAI_API_KEY decides, in the environment, then in the keyring."`
	Name            string `toml:"name" json:"name" doc:"The model, as the provider names it."`
	BaseURL         string `toml:"base_url" json:"base_url" format:"url" doc:"Where the API is, for gateways and local servers, such as http://localhost:11434/v1. Unset: ANTHROPIC_BASE_URL or OPENAI_BASE_URL, else the provider's own."`
	Script          string `toml:"script" json:"script" doc:"The file that the script provider plays; relative to the settings file it stands in."`
	MaxOutputTokens int    `toml:"max_output_tokens" json:"max_output_tokens" min:"1" doc:"The longest answer to one call."`
	ReflectionName  string `toml:"reflection_name" json:"reflection_name" doc:"The model for reflections and the taxonomy. Unset: the one above."`
	OldHeaders      bool   `toml:"old_headers" json:"old_headers" doc:"Send the key as x-api-key with API version 2023-06-01, for gateways that know only that form (Anthropic)."`
	Price           Price  `toml:"price" json:"price" doc:"What a million tokens cost in USD. All 0: money counts only where the server says what a call cost (OpenRouter); elsewhere a limit in USD cannot be held, which is said."`
}

// Price is USD for a million tokens; all zero: money is not counted.
type Price struct {
	Input      float64 `toml:"input" json:"input" min:"0" doc:"Input that no cache helped with."`
	CacheRead  float64 `toml:"cache_read" json:"cache_read" min:"0" doc:"Input read from the provider's cache."`
	CacheWrite float64 `toml:"cache_write" json:"cache_write" min:"0" doc:"Input written to the provider's cache."`
	Output     float64 `toml:"output" json:"output" min:"0" doc:"Output, thinking included."`
}

type Guard struct {
	OverwriteUnseen string      `toml:"overwrite_unseen" json:"overwrite_unseen" values:"refuse|allow" doc:"Whether a session may replace a file that it has not seen whole."`
	Save            string      `toml:"save" json:"save" values:"if-clean|always|never" doc:"Whether an edit in an open buffer is saved: if the buffer was clean, always, or never."`
	Syntax          string      `toml:"syntax" json:"syntax" values:"report|refuse" doc:"What happens to an edit that breaks a file that parsed."`
	PostWrite       []Formatter `toml:"post_write" json:"post_write" doc:"Formatters. They run on the candidate, never on the live file. All layers' formatters run."`
}

// Formatter runs on the candidate, never on the live file. "{path}" in Command
// is the candidate's temporary; without it the command is a filter on stdin.
type Formatter struct {
	Glob    string   `toml:"glob" json:"glob" need:"true" doc:"Which files, relative to the root."`
	Command []string `toml:"command" json:"command" need:"true" doc:"Program and arguments; {path} is the candidate's temporary, without it the command is a filter on stdin."`
}

type Recall struct {
	Frames      int    `toml:"frames" json:"frames" min:"0" doc:"At most so many memories with a prompt."`
	Tokens      int    `toml:"tokens" json:"tokens" min:"0" doc:"At most so many tokens of them."`
	Placement   string `toml:"placement" json:"placement" values:"after-prefix|before-prompt" doc:"Where they stand: right before the prompt, or first of all messages, which bills the whole conversation anew whenever they change."`
	ControlRate int    `toml:"control_rate" json:"control_rate" min:"0" doc:"One turn in so many goes without recall, to measure what recall is worth. 0 is never."`
}

type Budget struct {
	TurnUSD       float64 `toml:"turn_usd" json:"turn_usd" min:"0" doc:"USD a turn. Needs model.price, or a server that says what a call cost."`
	SessionUSD    float64 `toml:"session_usd" json:"session_usd" min:"0" doc:"USD a session. Needs the same."`
	TurnTokens    int64   `toml:"turn_tokens" json:"turn_tokens" min:"0" doc:"Tokens a turn, input and output together."`
	SessionTokens int64   `toml:"session_tokens" json:"session_tokens" min:"0" doc:"Tokens a session."`
	Steps         int     `toml:"steps" json:"steps" min:"0" doc:"Model calls a turn."`
}

type Graph struct {
	Serve     string            `toml:"serve" json:"serve" values:"auto|on|off" doc:"auto: only for languages that no other server of the editor answers for; its extension tells which. on: always. off: never, and hover shows memories only. Commands and sessions ask the graph in any case."`
	Languages map[string]string `toml:"languages" json:"languages" values:"auto|on|off" doc:"The same, for one language: python = \"off\"."`
}

type Permissions struct {
	Write   string   `toml:"write" json:"write" values:"deny|ask|allow" doc:"Writing files inside the workspace. The guard stands before it in any case. Files under .stella and .git are asked about whatever stands here, and $STELLA_HOME is never written to: a session cannot give itself more than it has."`
	Command string   `toml:"command" json:"command" values:"deny|ask|allow" doc:"Running commands."`
	Network string   `toml:"network" json:"network" values:"deny|ask|allow" doc:"Connecting to MCP servers on other machines. What a command does there is the command's permission."`
	MCP     string   `toml:"mcp" json:"mcp" values:"deny|ask|allow" doc:"Calling tools of MCP servers that may change something."`
	Always  []string `toml:"always" json:"always" doc:"What was answered with \"Always allow\". Only the user's file counts."`
}

type Hook struct {
	Event   string   `toml:"event" json:"event" need:"true" values:"pre_tool|post_write|session_start|stop" doc:"When: before a tool (may deny or ask), after a file was written, at a session's start, at a turn's end."`
	Tool    string   `toml:"tool" json:"tool" doc:"Only for tools whose name matches this glob."`
	Command []string `toml:"command" json:"command" need:"true" doc:"Program and arguments; what happened comes as JSON on stdin."`
	Timeout Duration `toml:"timeout" json:"timeout" doc:"How long it may run, such as \"60s\"."`
}

type Record struct {
	KeepDays int `toml:"keep_days" json:"keep_days" min:"0" doc:"A session that nobody touched for so many days is removed when a server starts. 0 keeps all. A project's file has no say in it."`
}

type OCP struct {
	Providers []OCPProvider `toml:"provider" json:"provider" doc:"Providers that are asked with every prompt. All layers' providers are."`
}

type OCPProvider struct {
	ID       string   `toml:"id" json:"id" need:"true" doc:"How it is called in what it delivers."`
	Command  []string `toml:"command" json:"command" doc:"Program and arguments, spoken to over stdio."`
	URL      string   `toml:"url" json:"url" doc:"Or where it listens."`
	Protocol string   `toml:"protocol" json:"protocol" values:"auto|ocp|contextgraph" doc:"What it speaks; auto finds out."`
}

// Duration is a time span written like "60s".
type Duration struct{ time.Duration }

// UnmarshalText reads Go's duration syntax.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(b))
	return err
}

// MarshalText writes it back.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Default is what holds where nothing is set.
func Default() Settings {
	return Settings{
		Model:       Model{MaxOutputTokens: 16000},
		Guard:       Guard{OverwriteUnseen: "refuse", Save: "if-clean", Syntax: "report"},
		Recall:      Recall{Frames: 5, Tokens: 1200, Placement: "before-prompt", ControlRate: 10},
		Budget:      Budget{Steps: 200},
		Graph:       Graph{Serve: "auto"},
		Record:      Record{KeepDays: 90},
		Permissions: Permissions{Write: "allow", Command: "ask", Network: "ask", MCP: "ask"},
	}
}
