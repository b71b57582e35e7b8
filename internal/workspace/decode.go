package workspace

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// Images returns the texts that an editor shows for exactly these bytes, when
// it decodes them without loss: as UTF-8 (a byte order mark is stripped), as
// UTF-16 with a mark, or as Latin-1 when the bytes are not UTF-8.
func Images(disk []byte) []string {
	switch {
	case bytes.HasPrefix(disk, utf8BOM):
		return []string{string(disk[3:]), string(disk)}
	case bytes.HasPrefix(disk, []byte{0xFF, 0xFE}):
		return utf16Images(disk, binary.LittleEndian)
	case bytes.HasPrefix(disk, []byte{0xFE, 0xFF}):
		return utf16Images(disk, binary.BigEndian)
	case utf8.Valid(disk):
		return []string{string(disk)}
	}
	return []string{latin1(disk)}
}

func utf16Images(disk []byte, order binary.ByteOrder) []string {
	if len(disk)%2 != 0 {
		return []string{latin1(disk)}
	}
	units := make([]uint16, 0, len(disk)/2)
	for i := 2; i < len(disk); i += 2 {
		units = append(units, order.Uint16(disk[i:]))
	}
	return []string{string(utf16.Decode(units))}
}

func latin1(disk []byte) string {
	var b strings.Builder
	b.Grow(len(disk) + len(disk)/8)
	for _, c := range disk {
		b.WriteRune(rune(c))
	}
	return b.String()
}

// IsImage reports whether text is how an editor shows disk, exactly.
func IsImage(text string, disk []byte) bool {
	if text == string(disk) {
		return true
	}
	for _, t := range Images(disk) {
		if t == text {
			return true
		}
	}
	return false
}

// isLossyImage reports whether text is how an editor may show disk after
// unifying its line ends or replacing what it could not decode. Such a view is
// clean, and writing it back would change bytes nobody touched.
func isLossyImage(text string, disk []byte) bool {
	want := foldLossy(text)
	for _, t := range append(Images(disk), strings.ToValidUTF8(string(disk), "\uFFFD")) {
		if foldLossy(t) == want {
			return true
		}
	}
	return false
}

var eolFolder = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func foldLossy(s string) string {
	s = eolFolder.Replace(s)
	if !strings.ContainsRune(s, utf8.RuneError) {
		return s
	}
	// Decoders differ in how many replacement characters one bad sequence gives.
	var b strings.Builder
	bad := false
	for _, r := range s {
		if r == utf8.RuneError {
			if bad {
				continue
			}
			bad = true
		} else {
			bad = false
		}
		b.WriteRune(r)
	}
	return b.String()
}
