// Package record is the durable work record: what a session needs to go on
// after the process is gone. It is a bare git repository per workspace, in the
// user's own state directory and never in the user's repository, with one ref
// per session: refs/stella/sessions/<id>. Plain git reads it, and
// `git fsck --strict` is clean at every moment.
//
// A step is one commit. Its tree holds the state at that step's end and what
// the step added:
//
//	meta.json          the header, with the format's version; the agent's own
//	                   state, opaque here; where to resume, while a turn runs
//	beliefs-NN.json    the beliefs, spread over 64 files so that a step writes
//	                   those that changed; contents are named by their blobs
//	content-SHA256     contents that this step brought
//	entry.json         this step's piece of the transcript
//
// The first two are in every commit; the others only in the commit that brought
// them, and the chain of commits keeps them all.
//
// An edit's pre-image is a commit of its own, durable before the write it
// precedes, with edit.json, before and after in place of entry.json; another
// says later that the edit was applied or given up.
//
// go-git encodes trees and commits and reads packs. What must survive a crash
// is written here: objects by temporary, sync, rename, sync of the directory
// (objects.go), refs by git's own lock protocol, as a compare-and-swap or
// create-only (refs.go). Nothing is ever written in place. Reads verify the
// hash of everything, so that a damaged record is an error in clear words and
// never half a session (load.go).
//
// What cannot be read is left alone: Salvage shows what is sound of it, and
// Continue keeps what the session does from then on under a name beside it. Old
// sessions are removed as a whole, readable or not (Prune in join.go).
//
// Processes: a session is written by the one process that holds its lock
// (store.go), which the system gives back when that process ends. Different
// sessions never wait for each other; packs are rearranged by one process at a
// time (join.go).
//
// A server with several roots has a Set (set.go): each session is in the record
// of the root that it works in.
package record
