// Package config reads the settings: the user's file, the project's file and
// the editor's section, in this order, later wins. A project file may not loosen
// permissions, add a base URL or run anything before the workspace is trusted.
package config

import "time"

// Settings is the whole of it; docs/settings.md is generated from this struct.
type Settings struct {
	Model       Model       `toml:"model" json:"model"`
	Guard       Guard       `toml:"guard" json:"guard"`
	Recall      Recall      `toml:"recall" json:"recall"`
	Budget      Budget      `toml:"budget" json:"budget"`
	Graph       Graph       `toml:"graph" json:"graph"`
	Permissions Permissions `toml:"permissions" json:"permissions"`
	Hooks       []Hook      `toml:"hook" json:"hook"`
	OCP         OCP         `toml:"ocp" json:"ocp"`
}

type Model struct {
	Provider        string `toml:"provider" json:"provider"` // anthropic, openai, script
	Name            string `toml:"name" json:"name"`
	BaseURL         string `toml:"base_url" json:"base_url"`
	Script          string `toml:"script" json:"script"`
	MaxOutputTokens int    `toml:"max_output_tokens" json:"max_output_tokens"`
	ReflectionName  string `toml:"reflection_name" json:"reflection_name"`
	// OldHeaders sends the key and API version in the form before October 2026,
	// for gateways in front of Anthropic models.
	OldHeaders bool  `toml:"old_headers" json:"old_headers"`
	Price      Price `toml:"price" json:"price"`
}

// Price is USD for a million tokens; all zero: money is not counted.
type Price struct {
	Input      float64 `toml:"input" json:"input"`
	CacheRead  float64 `toml:"cache_read" json:"cache_read"`
	CacheWrite float64 `toml:"cache_write" json:"cache_write"`
	Output     float64 `toml:"output" json:"output"`
}

type Guard struct {
	OverwriteUnseen string      `toml:"overwrite_unseen" json:"overwrite_unseen"` // refuse, allow
	Save            string      `toml:"save" json:"save"`                         // if-clean, always, never
	Syntax          string      `toml:"syntax" json:"syntax"`                     // report, refuse
	PostWrite       []Formatter `toml:"post_write" json:"post_write"`
}

// Formatter runs on the candidate, never on the live file. "{path}" in Command
// is the candidate's temporary; without it the command is a filter on stdin.
type Formatter struct {
	Glob    string   `toml:"glob" json:"glob"`
	Command []string `toml:"command" json:"command"`
}

type Recall struct {
	Frames      int    `toml:"frames" json:"frames"`
	Tokens      int    `toml:"tokens" json:"tokens"`
	Placement   string `toml:"placement" json:"placement"` // after-prefix, before-prompt
	ControlRate int    `toml:"control_rate" json:"control_rate"`
}

type Budget struct {
	TurnUSD       float64 `toml:"turn_usd" json:"turn_usd"`
	SessionUSD    float64 `toml:"session_usd" json:"session_usd"`
	TurnTokens    int64   `toml:"turn_tokens" json:"turn_tokens"`
	SessionTokens int64   `toml:"session_tokens" json:"session_tokens"`
	Steps         int     `toml:"steps" json:"steps"`
}

type Graph struct {
	Serve     string            `toml:"serve" json:"serve"` // auto, on, off
	Languages map[string]string `toml:"languages" json:"languages"`
}

type Permissions struct {
	Write   string   `toml:"write" json:"write"` // allow, ask, deny
	Command string   `toml:"command" json:"command"`
	Network string   `toml:"network" json:"network"`
	MCP     string   `toml:"mcp" json:"mcp"`
	Always  []string `toml:"always" json:"always"`
}

type Hook struct {
	Event   string   `toml:"event" json:"event"` // pre_tool, post_write, session_start, stop
	Tool    string   `toml:"tool" json:"tool"`   // glob
	Command []string `toml:"command" json:"command"`
	Timeout Duration `toml:"timeout" json:"timeout"`
}

type OCP struct {
	Providers []OCPProvider `toml:"provider" json:"provider"`
}

type OCPProvider struct {
	ID       string   `toml:"id" json:"id"`
	Command  []string `toml:"command" json:"command"`
	URL      string   `toml:"url" json:"url"`
	Protocol string   `toml:"protocol" json:"protocol"` // auto, ocp, contextgraph
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
		Recall:      Recall{Frames: 5, Tokens: 1200, Placement: "after-prefix", ControlRate: 10},
		Budget:      Budget{Steps: 200},
		Graph:       Graph{Serve: "auto"},
		Permissions: Permissions{Write: "allow", Command: "ask", Network: "ask", MCP: "ask"},
	}
}
