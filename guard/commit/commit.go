// Package commit puts bytes at a path that other programs may be writing at the
// same moment, and loses nobody's bytes. It is the disk half of the guard's
// transaction. A Replace on Linux goes through these steps:
//
//  1. The candidate is written to a fresh sibling, with the target's owner,
//     attributes, access lists and mode, and synced; then an intent is made
//     durable that names both (intent.go). Nothing has moved yet.
//  2. A read lease is taken on the target: whoever has it open for writing makes
//     the call busy, and whoever wants to open it for writing from now on is
//     held back by the kernel and breaks the lease (lease_linux.go).
//  3. What the target holds is compared through that descriptor (replace.go).
//  4. The two names are exchanged in one step; the path exists at every moment.
//  5. If what came out is the leased inode and the lease is unbroken, the change
//     is committed. The old file stays parked under its lease for a little more
//     than a second, because a writer that had resolved the name before the
//     exchange opens it only now: its version goes back to the path (park.go).
//  6. Otherwise somebody wrote in this moment: names are exchanged back until
//     what comes out is what was put in last (restore.go).
//
// Every version written by others that passed through the engine's hands is
// either at the path or in the Displaced store, and usually in both. What a
// crash interrupts is finished by Recover from the intents. Where a step cannot be
// had (another owner's file, a file system without leases or exchange, another
// operating system) the rest is done, and Result.Mode and Probe say so.
//
// All work is done by directory descriptors; with Request.Root no element below
// the root may be a link. The process never opens a leased file by path for
// writing: it would wait for its own lease.
package commit
