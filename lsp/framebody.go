package lsp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// pushback is a reader into which bytes can be put back.
type pushback struct {
	rest []byte
	from io.Reader
}

func (p *pushback) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return p.from.Read(b)
	}
	n := copy(b, p.rest)
	if p.rest = p.rest[n:]; len(p.rest) == 0 {
		p.rest = nil
	}
	return n, nil
}

// unread puts bytes in front of all that is still to be read.
func (s *stream) unread(b []byte) {
	waiting, _ := s.in.Peek(s.in.Buffered())
	s.back.rest = slices.Concat(b, waiting, s.back.rest)
	s.in.Reset(s.back)
}

// readFrame reads one header block and the body that it announces. The body is
// valid until the next call.
//
// A header may claim more than its message has. What follows would be swallowed,
// hours of it if the claim is large. But no JSON text holds the raw bytes of a
// header with its line end (in a string a line end is escaped, outside of one a
// name is no JSON), so a header within a body says that the body ended before it.
func (s *stream) readFrame() ([]byte, error) {
	length, err := s.readHeader()
	if err != nil {
		return nil, err
	}
	keep := length
	if length > s.limit {
		keep = min(length, 4<<10) // its head shows whose message it was
	}
	body, short, err := s.readBody(length, keep)
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case short >= 0:
		return body, &frameError{msg: fmt.Sprintf("a header says %d bytes, but the next message begins after %d", length, short)}
	case length > s.limit:
		return body, &frameError{msg: fmt.Sprintf("the message has %d bytes; the limit is %d", length, s.limit)}
	}
	return body, nil
}

const (
	// bodyPart is how much of a body is read at a time: memory is taken for what has
	// come, never for what is claimed.
	bodyPart = 256 << 10
	// headerMost is longer than a header's line, in bytes.
	headerMost = 64
)

// readBody reads length bytes and returns the first keep of them. short is after
// how many of them the header of another message came, -1 if none did.
func (s *stream) readBody(length, keep int) (body []byte, short int, err error) {
	body = s.body(min(length, bodyPart))[:0]
	from, dropped := 0, 0 // where a header may begin; what is no longer in body
	for len(body)+dropped < length {
		// Whatever has come, no more: a whole part may never come, with the next
		// message already here.
		want := min(length-len(body)-dropped, bodyPart)
		body = slices.Grow(body, want)
		n, err := s.in.Read(body[len(body) : len(body)+want])
		if n == 0 && err != nil {
			return nil, -1, err
		}
		body = body[:len(body)+n]
		if at := headerIn(body[from:], len(body)+dropped == length); at >= 0 {
			at += from
			s.unread(body[at:])
			return body[:min(at, keep)], at + dropped, nil
		}
		if from = max(0, len(body)-headerMost); from > keep {
			copy(body[keep:], body[from:])
			dropped += from - keep
			from, body = keep, body[:keep+headerMost]
		}
	}
	if cap(body) > cap(s.buf) {
		s.buf = body[:0]
	}
	return body[:min(len(body), keep)], -1, nil
}

// headerIn is where in b a length's header stands, with its line's end, -1 if
// nowhere. At the end of a body its beginning is enough: no JSON ends so.
func headerIn(b []byte, end bool) int {
	for _, name := range []string{"Content-Length:", contentLength} {
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(name))
			if i < 0 {
				break
			}
			at += i
			rest := bytes.TrimLeft(b[at+len(name):min(len(b), at+headerMost)], " \t")
			value := bytes.TrimLeft(rest, "0123456789")
			after := bytes.TrimLeft(value, " \t\r")
			if len(value) < len(rest) && (bytes.HasPrefix(after, []byte("\n")) || end && len(after) == 0) || end && len(rest) == 0 {
				return at
			}
			at += len(name)
		}
		for n := min(len(name), len(b)); end && n > 0; n-- {
			if bytes.HasSuffix(b, []byte(name[:n])) {
				return len(b) - n
			}
		}
	}
	return -1
}

// body returns n bytes, reusing the last frame's buffer unless that would keep
// the memory of one huge document for the life of the connection.
func (s *stream) body(n int) []byte {
	if cap(s.buf) < n || (cap(s.buf) > keepBuffer && n <= keepBuffer) {
		s.buf = make([]byte, n)
	}
	return s.buf[:n]
}
