package record

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
)

// A pack is git's own format: "PACK", version 2, the number of objects, the
// objects, and the SHA-1 of all that. Each object is its type and size, then
// its bytes deflated. Ours hold no deltas, so that packs can be joined by
// copying.

const (
	packHeader  = 12
	hashSize    = 20
	idxFanout   = 8
	idxHashes   = idxFanout + 256*4
	idxTrailer  = 2 * hashSize
	maxPackSize = 1 << 30 // ours stay below what 31-bit offsets can name
)

// pending is an object that is encoded but not yet written.
type pending struct {
	kind plumbing.ObjectType
	body []byte
	hash plumbing.Hash
}

func encoded(kind plumbing.ObjectType, body []byte) pending {
	return pending{kind, body, hashOf(kind, body)}
}

// hashOf is git's name of an object. go-git's own looks for forged collisions,
// which costs five times as much; what is hashed here is ours.
func hashOf(kind plumbing.ObjectType, body []byte) plumbing.Hash {
	h := sha1.New()
	_, _ = h.Write([]byte(kind.String() + " " + strconv.Itoa(len(body)) + "\x00")) // never fails
	_, _ = h.Write(body)
	return plumbing.Hash(h.Sum(nil))
}

// packed is an object as it lies in a pack.
type packed struct {
	hash   plumbing.Hash
	offset uint32
	crc    uint32
}

var compressors = sync.Pool{New: func() any {
	w, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level is valid
	return w
}}

// makePack lays out a pack and its index; name is the pack's checksum.
func makePack(list []pending) (pack, idx []byte, name string, err error) {
	var b bytes.Buffer
	b.Write(packHead(len(list)))
	var index []packed
	for _, p := range list {
		start := b.Len()
		writeHead(&b, p.kind, len(p.body))
		z := compressors.Get().(*zlib.Writer)
		z.Reset(&b)
		_, werr := z.Write(p.body)
		err := errors.Join(werr, z.Close())
		compressors.Put(z)
		if err != nil {
			return nil, nil, "", err
		}
		if b.Len() > maxPackSize {
			return nil, nil, "", fmt.Errorf("a step of more than %d bytes cannot be recorded", maxPackSize)
		}
		index = append(index, packed{p.hash, uint32(start), crc32.ChecksumIEEE(b.Bytes()[start:])})
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes(), makeIndex(index, sum[:]), fmt.Sprintf("pack-%x", sum), nil
}

func packHead(n int) []byte {
	head := binary.BigEndian.AppendUint32([]byte("PACK"), 2)
	return binary.BigEndian.AppendUint32(head, uint32(n))
}

// writeHead writes type and size: 4 bits of size in the first byte, 7 in each
// that follows, the top bit saying that one does.
func writeHead(b *bytes.Buffer, kind plumbing.ObjectType, size int) {
	c := byte(kind)<<4 | byte(size&0xf)
	for size >>= 4; size > 0; size >>= 7 {
		b.WriteByte(c | 0x80)
		c = byte(size & 0x7f)
	}
	b.WriteByte(c)
}

// makeIndex is git's index, version 2.
func makeIndex(list []packed, packSum []byte) []byte {
	slices.SortFunc(list, func(a, b packed) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	out := binary.BigEndian.AppendUint32([]byte{0xff, 't', 'O', 'c'}, 2)
	n := 0
	for first := range 256 {
		for n < len(list) && int(list[n].hash[0]) <= first {
			n++
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	for _, p := range list {
		out = append(out, p.hash[:]...)
	}
	for _, p := range list {
		out = binary.BigEndian.AppendUint32(out, p.crc)
	}
	for _, p := range list {
		out = binary.BigEndian.AppendUint32(out, p.offset)
	}
	out = append(out, packSum...)
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

// packIndex is a loaded index.
type packIndex struct {
	name string // without extension
	raw  []byte
	n    int
}

// parseIndex checks an index as a whole.
func parseIndex(name string, raw []byte) (*packIndex, error) {
	if len(raw) < idxHashes+idxTrailer || !bytes.HasPrefix(raw, []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}) {
		return nil, damaged("%s.idx is cut off or altered", name)
	}
	sum := sha1.Sum(raw[:len(raw)-hashSize])
	n := int(binary.BigEndian.Uint32(raw[idxHashes-4:]))
	if !bytes.Equal(sum[:], raw[len(raw)-hashSize:]) || len(raw) < idxHashes+n*(hashSize+8)+idxTrailer {
		return nil, damaged("%s.idx is cut off or altered", name)
	}
	return &packIndex{name, raw, n}, nil
}

func (x *packIndex) hash(i int) []byte { return x.raw[idxHashes+i*hashSize:][:hashSize] }

// find is where an object begins; big is true when only git's 64-bit table says.
func (x *packIndex) find(h plumbing.Hash) (offset int64, big, ok bool) {
	from := 0
	if h[0] > 0 {
		from = int(binary.BigEndian.Uint32(x.raw[idxFanout+4*(int(h[0])-1):]))
	}
	to := int(binary.BigEndian.Uint32(x.raw[idxFanout+4*int(h[0]):]))
	if from > to || to > x.n {
		return 0, false, false
	}
	for from < to {
		mid := (from + to) / 2
		switch bytes.Compare(x.hash(mid), h[:]) {
		case 0:
			v := binary.BigEndian.Uint32(x.raw[idxHashes+x.n*(hashSize+4)+4*mid:])
			return int64(v), v&(1<<31) != 0, true
		case -1:
			from = mid + 1
		default:
			to = mid
		}
	}
	return 0, false, false
}

// errDelta: the object is stored as a difference, which ours never are.
var errDelta = errors.New("the object is a delta")

// readAt reads the object that begins at offset. length is what it takes in the pack.
func readAt(r io.ReaderAt, offset int64) (kind plumbing.ObjectType, body []byte, length int64, err error) {
	in := &countingReader{r: io.NewSectionReader(r, offset, maxPackSize)}
	kind, size, err := readHead(in)
	if err != nil {
		return 0, nil, 0, err
	}
	switch kind {
	case plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
		return 0, nil, 0, errDelta
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
	default:
		return 0, nil, 0, fmt.Errorf("no object begins at %d", offset)
	}
	if size > maxObject {
		return 0, nil, 0, fmt.Errorf("the object at %d has %d bytes", offset, size)
	}
	z, err := zlib.NewReader(in)
	if err != nil {
		return 0, nil, 0, err
	}
	var b bytes.Buffer
	b.Grow(int(min(size, 1<<20)))
	n, err := io.Copy(&b, io.LimitReader(z, size+1))
	if err == nil && n != size {
		err = fmt.Errorf("the object at %d has %d bytes, not %d", offset, n, size)
	}
	return kind, b.Bytes(), in.n, err
}

func readHead(in io.ByteReader) (plumbing.ObjectType, int64, error) {
	c, err := in.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	kind, size := plumbing.ObjectType(c>>4&7), int64(c&0xf)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = in.ReadByte(); err != nil || shift > 40 {
			return 0, 0, errors.Join(err, errors.New("its head does not fit"))
		}
		size |= int64(c&0x7f) << shift
	}
	return kind, size, nil
}

// countingReader reads in small blocks and counts what was taken out of it. It
// is an io.ByteReader, so that zlib takes no byte too many.
type countingReader struct {
	r    io.Reader
	buf  [4096]byte
	have []byte
	n    int64
}

func (c *countingReader) fill() error {
	if len(c.have) > 0 {
		return nil
	}
	n, err := c.r.Read(c.buf[:])
	c.have = c.buf[:n]
	if n > 0 {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (c *countingReader) ReadByte() (byte, error) {
	if err := c.fill(); err != nil {
		return 0, err
	}
	b := c.have[0]
	c.have = c.have[1:]
	c.n++
	return b, nil
}

func (c *countingReader) Read(p []byte) (int, error) {
	if err := c.fill(); err != nil {
		return 0, err
	}
	n := copy(p, c.have)
	c.have = c.have[n:]
	c.n += int64(n)
	return n, nil
}
