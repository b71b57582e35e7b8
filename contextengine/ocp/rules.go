package ocp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Cost is the accounting cost of an inline content in tokens: a quarter of its
// UTF-8 bytes, rounded up (B3). It is a unit, not a model's tokenizer.
func Cost(content string) uint32 { return uint32((uint64(len(content)) + 3) / 4) }

// ModelBudget converts a budget in model tokens into accounting tokens, leaving
// headroom by factor; a factor of 0 or less changes nothing.
func ModelBudget(modelTokens uint32, factor float32) uint32 {
	if factor <= 0 {
		return modelTokens
	}
	return uint32(float32(modelTokens) / factor)
}

// Digest is "sha256:" and the hex digest of s.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ValidDigest reports whether s is "sha256:" and 64 lower-case hex digits (D1).
func ValidDigest(s string) bool {
	hexPart, ok := strings.CutPrefix(s, "sha256:")
	if !ok || len(hexPart) != 64 {
		return false
	}
	for i := 0; i < len(hexPart); i++ {
		if c := hexPart[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Blank reports whether s is empty after trimming Unicode white space.
func Blank(s string) bool { return strings.TrimFunc(s, unicode.IsSpace) == "" }

// Family is the part of a version string before its first dot; a string
// without one is its own family. Two versions interoperate when their families
// are byte-equal (H1).
func Family(version string) string {
	family, _, _ := strings.Cut(version, ".")
	return family
}

// Interoperate reports whether two version strings are of one family.
func Interoperate(a, b string) bool { return Family(a) == Family(b) }

// LocalOnly is the one scope that leaves nothing off this machine.
const LocalOnly = "local-only"

// OffMachine lists the scopes that leave this machine, unknown ones included.
func (d DataFlow) OffMachine() []string {
	var out []string
	for _, s := range d.EgressScopes {
		if s != LocalOnly {
			out = append(out, s)
		}
	}
	return out
}

// Consistent checks that every scope is well formed and that an off-machine
// scope comes with egress (C5).
func (d DataFlow) Consistent() error {
	for _, s := range d.EgressScopes {
		switch s {
		case LocalOnly, "org-tenant", "third-party-index", "third-party-model":
		default:
			vendor, name, ok := strings.Cut(s, ":")
			if !ok || vendor == "" || name == "" {
				return fmt.Errorf("egress scope %q is neither a known one nor vendor:name", s)
			}
		}
	}
	if off := d.OffMachine(); len(off) > 0 && !d.Egress {
		return fmt.Errorf("egress scope %q is declared without egress", off[0])
	}
	return nil
}

// CheckFrame reports the first rule that f breaks as an answer to q.
func CheckFrame(f Frame, q Query) error {
	switch {
	case f.ID == "":
		return errors.New("no id")
	case math.IsNaN(float64(f.Score)) || f.Score < 0 || f.Score > 1:
		return fmt.Errorf("score %v is outside 0 to 1 (F1)", f.Score)
	case Blank(f.Title):
		return errors.New("blank title (F2)")
	case Blank(f.CitationLabel):
		return errors.New("blank citation label (F3)")
	case len(q.Kinds) > 0 && !slices.Contains(q.Kinds, f.Kind):
		return fmt.Errorf("kind %q was not asked for (Q1)", f.Kind)
	}
	if err := checkRepresentation(f); err != nil {
		return err
	}
	if f.TokenCost != Cost(f.Text()) {
		return fmt.Errorf("token_cost %d, its content costs %d (B3)", f.TokenCost, Cost(f.Text()))
	}
	if f.ContentDigest != nil && !ValidDigest(*f.ContentDigest) {
		return errors.New("malformed content digest (D1)")
	}
	return checkFrameLinks(f, q)
}

func checkFrameLinks(f Frame, q Query) error {
	for _, t := range []string{f.ValidFrom, f.ValidTo, f.RecordedAt} {
		if t != "" && !ValidTime(t) {
			return fmt.Errorf("time %q is outside the profile (F4)", t)
		}
	}
	if q.AsOf != "" && !ValidAt(f, q.AsOf) {
		return fmt.Errorf("not valid at %s (Q2)", q.AsOf)
	}
	for _, p := range f.Provenance {
		if p.Type == "file" && !ValidDigest(p.Digest) {
			return errors.New("file provenance without a digest (F5)")
		}
	}
	for _, r := range f.Relations {
		if Blank(r.TargetURI) {
			return errors.New("relation without a target (G2)")
		}
		if Blank(r.DisplayName) {
			return errors.New("relation without a display name (G1)")
		}
	}
	return nil
}

func checkRepresentation(f Frame) error {
	distilled := f.CanonicalContentHash != "" || f.ContentRef != nil || f.Transform != nil
	switch f.Representation {
	case "", Full:
		if f.Content == nil {
			return errors.New("full frame without content")
		}
		if distilled {
			return errors.New("full frame with members of a compact or reference one")
		}
	case Compact:
		if f.Content == nil || f.ContentDigest == nil || f.CanonicalContentHash == "" || f.ContentRef == nil || f.Transform == nil {
			return errors.New("compact frame lacks content, digests, reference or transform")
		}
	case Reference:
		if f.Content != nil || f.ContentDigest != nil || f.Transform != nil {
			return errors.New("reference frame with inline members")
		}
		return errors.New("reference frame: its content cannot be fetched in this version")
	default:
		return fmt.Errorf("unknown representation %q", f.Representation)
	}
	return nil
}

// Identity is the frame's identity under the host's local provider id.
func Identity(providerID string, f Frame) FrameID {
	return FrameID{ProviderID: providerID, FrameID: f.ID, ContentDigest: f.ContentDigest}
}

// Compare is the canonical composition order: field by field, byte-wise, an
// absent digest before a present one.
func (a FrameID) Compare(b FrameID) int {
	if c := strings.Compare(a.ProviderID, b.ProviderID); c != 0 {
		return c
	}
	if c := strings.Compare(a.FrameID, b.FrameID); c != 0 {
		return c
	}
	switch {
	case a.ContentDigest == nil && b.ContentDigest == nil:
		return 0
	case a.ContentDigest == nil:
		return -1
	case b.ContentDigest == nil:
		return 1
	}
	return strings.Compare(*a.ContentDigest, *b.ContentDigest)
}
