package lsp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"go.lsp.dev/jsonrpc2"
)

// Limits of the base protocol, in bytes. A frame above maxFrame is skipped and
// answered; a header line above maxHeaderLine is noise.
const (
	maxFrame      = 128 << 20 // a didOpen of some 50 MB, above which editors open no document
	maxHeaderLine = 8 << 10
	keepBuffer    = 1 << 20 // a larger read buffer is not kept for the next frame
)

// frameError is a frame that could not be read although the stream goes on.
type frameError struct{ msg string }

func (e *frameError) Error() string { return e.msg }

// stream frames JSON-RPC messages with LSP headers. Unlike the library's own it
// survives what it cannot read: noise between frames, a broken header, a frame
// above the limit or shorter than its header claims, a body that is not JSON. Each is answered with an error and
// reported through bad, and reading goes on with the next frame.
//
// Writes go through an outbox, so that no writer but a full outbox ever waits
// for the client.
type stream struct {
	in    *bufio.Reader
	back  *pushback // what in reads from
	conn  io.ReadWriteCloser
	out   *outbox
	limit int
	buf   []byte
	// bad is told of every unreadable message, with its bytes as far as they
	// are known (only the head of a frame above the limit).
	bad func(reason string, raw []byte)
	// eof is called once when nothing more can be read.
	eof func(error)
}

func newStream(conn io.ReadWriteCloser, out *outbox) *stream {
	back := &pushback{from: conn}
	return &stream{
		in: bufio.NewReaderSize(back, 64<<10), back: back, conn: conn, out: out, limit: maxFrame,
		bad: func(string, []byte) {}, eof: func(error) {},
	}
}

// Read returns the next message that can be understood. Its bytes are valid
// until the next Read.
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		body, err := s.readFrame()
		var broken *frameError
		switch {
		case errors.As(err, &broken):
			s.refuse(jsonrpc2.ParseError, broken.msg, body)
			continue
		case err != nil:
			s.eof(err)
			return nil, 0, err
		}
		if isBatch(body) {
			s.refuse(jsonrpc2.InvalidRequest, "a batch is not part of the Language Server Protocol: send its messages one by one", body)
			continue
		}
		msg, err := jsonrpc2.DecodeMessage(body)
		if err != nil {
			code := jsonrpc2.ParseError
			if errors.Is(err, jsonrpc2.ErrInvalidRequest) {
				code = jsonrpc2.InvalidRequest
			}
			s.refuse(code, err.Error(), body)
			continue
		}
		return msg, int64(len(body)), nil
	}
}

// refuse answers a message that has no readable id. It never waits: the read
// loop must go on even when the client does not read.
func (s *stream) refuse(code jsonrpc2.Code, reason string, raw []byte) {
	s.bad(reason, raw)
	reply := jsonrpc2.NewResponse(jsonrpc2.ID{}, nil, jsonrpc2.NewError(code, reason))
	if b, err := encodeFrame(reply); err == nil {
		s.out.tryPut(b)
	}
}

// Write queues one message.
func (s *stream) Write(ctx context.Context, msg jsonrpc2.Message) (int64, error) {
	b, err := encodeFrame(msg)
	if err != nil {
		return 0, err
	}
	if err := s.out.put(ctx, b); err != nil {
		return 0, err
	}
	return int64(len(b)), nil
}

// Close ends the transport.
func (s *stream) Close() error { return s.conn.Close() }

func encodeFrame(msg jsonrpc2.Message) ([]byte, error) {
	body, err := jsonrpc2.EncodeMessage(msg)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(body)+32)
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	b = append(b, "\r\n\r\n"...)
	return append(b, body...), nil
}

const contentLength = "content-length:"

// readHeader returns the next announced length. Noise in front of a header (the
// body of a frame whose header was wrong, a stray print) is skipped, even
// without a line end between both, and answered.
func (s *stream) readHeader() (int, error) {
	length, seen := -1, false
	var skipped noise
	for {
		line, err := s.readLine(&skipped)
		if err != nil {
			if errors.Is(err, io.EOF) && (seen || skipped.n > 0) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		if len(line) == 0 {
			if !seen {
				continue // an empty line between frames
			}
			break
		}
		at := indexFold(line, contentLength)
		switch {
		case at < 0 && isField(line):
			seen = true // Content-Type, or what a later protocol may add
		case at < 0:
			skipped.add(line)
		default:
			skipped.add(line[:at])
			seen = true
			n, err := strconv.Atoi(string(bytes.TrimSpace(line[at+len(contentLength):])))
			if err != nil || n < 0 {
				skipped.add(line[at:])
				length = -1
				continue
			}
			length = n
		}
	}
	if length < 0 {
		return 0, &frameError{msg: "a header block without a valid Content-Length"}
	}
	if skipped.n > 0 {
		s.refuse(jsonrpc2.ParseError, fmt.Sprintf("skipped %d bytes that are no LSP message", skipped.n), skipped.head)
	}
	return length, nil
}

// noise is what was skipped in search of a header; its head shows whether a
// message was in it.
type noise struct {
	n    int
	head []byte
}

func (n *noise) add(b []byte) {
	n.n += len(b)
	n.head = append(n.head, b[:min(len(b), 4<<10-len(n.head))]...)
}

// readLine returns one line without its end. Of a line that is longer than
// maxHeaderLine only the tail is kept; the rest counts as noise.
func (s *stream) readLine(skipped *noise) ([]byte, error) {
	var line []byte
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxHeaderLine {
			cut := len(line) - maxHeaderLine/2
			skipped.add(line[:cut])
			line = append(line[:0], line[cut:]...)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			skipped.add(line)
			return nil, err
		}
	}
}

// isField reports whether a line looks like "Name: value".
func isField(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 {
		return false
	}
	for _, c := range name {
		if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

func indexFold(b []byte, lower string) int {
	return bytes.LastIndex(bytes.ToLower(b), []byte(lower))
}

func isBatch(body []byte) bool {
	b := bytes.TrimLeft(body, " \t\r\n")
	return len(b) > 0 && b[0] == '['
}
