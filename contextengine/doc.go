// Package contextengine keeps what is known about a workspace and gives it to
// the model so that the expensive part of the prompt never changes.
//
// Knowledge lives as plain files and two local databases below .stella/:
//
//	files     memories, rules, skills, domains: what people read, edit, commit
//	store     context.db, bi-temporal: what was true when, and when we believed it
//	ledger    store.db: citations, turns and their arms, what a session was shown
//
// It reaches the model at two places only. The baked prefix (Prefix) is
// assembled once a session and is byte-identical in every request. The recall
// block (Recall) is one message, refreshed once a turn, absent when nothing is
// relevant; it is made by the Open Context Protocol host (ocp/host) from two
// providers of ours, the memory store and the code graph.
//
// Arrows: contextengine asks the graph through the Graph interface and reads
// workspace files through Source; it knows nothing of agents, models, guards or
// LSP. A model call is a plain function (Ask). The agent's side of it (tools,
// the session's Context) is agent/memory.
//
// Nothing here creates .stella/ but Init and BeginTurn; everything else, asked
// about a folder without one, answers "nothing" and writes nothing.
package contextengine
