package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/codecell/codecell/wasm/meter"
)

const (
	// maxImageBytes bounds an image's memory. A catalog of thousands of tools stays far below.
	maxImageBytes = 256 << 20
	// maxStack is the largest native stack the engine may use: half of the 1 MiB it was linked with, the rest being room for
	// the frames that report the overflow.
	maxStack = 512 << 10
	// spareHeap is allocated and freed while the base image is made, so that small programs run without growing memory: a
	// machine whose memory has grown can't be reused.
	spareHeap = 256 << 10
)

// imageTime is the clock while images are made: fixed, because the same input must give the same memory.
var imageTime = time.Unix(1_000_000_000, 0)

// baseImage is the memory in which only the controller is installed. All images share it.
type baseImage struct {
	memory     []byte
	sum        [sha256.Size]byte // of the memory
	controller [sha256.Size]byte // of the controller's source
	sp         uint64
	runtime    uint32
	context    uint32
	seed       uint32 // address of the state of Math.random
	scratch    uint32
	function   uint32 // the controller
	host       uint32 // its host function
}

// Image is the memory of a machine with one catalog installed, kept as its difference to what all images share: a few
// hundred KiB. Safe for concurrent use. It needs no closing.
type Image struct {
	engine *Engine
	id     [sha256.Size]byte
	sum    [sha256.Size]byte // of base and pages: two builds that differ anywhere differ here
	size   uint32            // bytes of memory
	sp     uint64
	heap   uint32 // bytes allocated in it
	pages  pageSet
	spans  []span // the whole memory
	api    [apiFunctions]uint32
}

// apiFunction is a function of the controller that Go calls, as an index of Image.api.
type apiFunction int

const (
	apiStart apiFunction = iota
	apiSettle
	apiCheck
	apiDescribeError
	apiFunctions
)

var apiNames = [apiFunctions]string{"start", "settle", "check", "describeError"}

// ID identifies the image: 64 hexadecimal digits of a hash over the engine module, the meter's version, the controller and
// the install text. A snapshot can only be restored with an image of the same ID.
func (img *Image) ID() string { return hex.EncodeToString(img.id[:]) }

// Size is the number of bytes that holding the image costs.
func (img *Image) Size() int { return len(img.pages.data) + 4*len(img.pages.index) }

// newEnv starts a machine outside of any guest.
func (e *Engine) newEnv(ctx context.Context, limit uint64) (*env, error) {
	m, err := newMachine(ctx, e.rt, e.code, limit)
	if err != nil {
		return nil, err
	}
	return &env{machine: m, clock: func() time.Time { return imageTime }}, nil
}

func (e *Engine) buildBase(ctx context.Context, controller string) (*baseImage, error) {
	v, err := e.newEnv(ctx, maxImageBytes)
	if err != nil {
		return nil, err
	}
	defer v.machine.close()
	b := &baseImage{controller: sha256.Sum256([]byte(controller))}
	var buildErr error
	if err := guard(func() { buildErr = b.build(v, controller) }); err != nil {
		return nil, err
	}
	return b, buildErr
}

func (b *baseImage) build(v *env, controller string) error {
	m, ctx := v.machine, newCallContext(v)
	m.call(ctx, xInitialize)
	if m.call32(ctx, xInit) != 0 {
		return errors.New("the engine didn't initialise")
	}
	b.runtime, b.context = m.call32(ctx, xRuntimePtr), m.call32(ctx, xContextPtr)
	v.context = b.context
	if err := b.findSeed(v); err != nil {
		return err
	}
	m.call(ctx, xSetMaxStack, maxStack)
	m.call(ctx, xTrackRejections, 1)
	b.scratch = m.call32(ctx, xMalloc, scratchSize)
	v.scratch = b.scratch
	name := m.alloc(ctx, "host")
	b.host = m.call32(ctx, xNewHostFunction, uint64(name), 4, 0)
	m.free(ctx, name)
	src, file := m.alloc(ctx, controller), m.alloc(ctx, controllerFile)
	b.function = m.call32(ctx, xEval, uint64(src), uint64(len(controller)), uint64(file), 0)
	m.free(ctx, src)
	m.free(ctx, file)
	if err := v.exception(ctx, b.function); err != nil {
		return fmt.Errorf("evaluating the scripts: %w", err)
	}
	// What evaluating the scripts left behind would otherwise be collected in every image, which touches half of its pages.
	m.call(ctx, xRunGC)
	m.free(ctx, m.call32(ctx, xMalloc, spareHeap))
	b.sp = m.sp.Get()
	b.memory = bytes.Clone(m.bytes())
	b.sum = sha256.Sum256(b.memory)
	return nil
}

// controllerFile names the controller in stack traces, from which the controller removes it.
const controllerFile = "codecell:controller.js"

// findSeed finds the state of Math.random within the context, by predicting the next number from every candidate. Nothing
// exported sets it, and without another state all copies of an image would draw the same numbers.
func (b *baseImage) findSeed(v *env) error {
	const contextSize = 1024
	m, ctx := v.machine, newCallContext(v)
	before := bytes.Clone(m.read(b.context, contextSize))
	src, file := m.alloc(ctx, "Math.random()"), m.alloc(ctx, controllerFile)
	value := m.call32(ctx, xEval, uint64(src), uint64(len("Math.random()")), uint64(file), 0)
	drawn := math.Float64frombits(m.call(ctx, xGetFloat64, uint64(value)))
	m.freeValue(ctx, value)
	m.free(ctx, src)
	m.free(ctx, file)
	for at := 0; at+8 <= contextSize; at += 8 {
		if nextRandom(binary.LittleEndian.Uint64(before[at:])) != drawn {
			continue
		}
		if b.seed != 0 {
			return errors.New("the engine's random state is ambiguous")
		}
		b.seed = b.context + uint32(at)
	}
	if b.seed == 0 {
		return errors.New("the engine's random state wasn't found")
	}
	return nil
}

// nextRandom is what Math.random returns in the given state: xorshift64*, its upper 52 bits.
func nextRandom(state uint64) float64 {
	state ^= state >> 12
	state ^= state << 25
	state ^= state >> 27
	return math.Float64frombits(state*0x2545f4914f6cdd1d>>12|0x3ff<<52) - 1
}

// NewImage installs a catalog: it calls the controller with the install text (JSON, see guest/js) and keeps the memory.
// It takes one or two milliseconds. The same text gives the same image in every process with the same build.
func (e *Engine) NewImage(ctx context.Context, installText []byte) (*Image, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	v, err := e.newEnv(ctx, maxImageBytes)
	if err != nil {
		return nil, err
	}
	defer v.machine.close()
	img := &Image{engine: e, id: e.imageID(installText)}
	var buildErr error
	if err := guard(func() { buildErr = img.build(ctx, v, installText) }); err != nil {
		if reason := v.stop.reason(ctx); reason != nil {
			return nil, fmt.Errorf("%w: installing the catalog: %w", ErrInterrupted, reason)
		}
		return nil, fmt.Errorf("%w: installing the catalog: %w", ErrController, err)
	}
	if buildErr != nil {
		return nil, fmt.Errorf("%w: installing the catalog: %w", ErrController, buildErr)
	}
	return img, nil
}

func (e *Engine) imageID(installText []byte) (id [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "codecell image 1\nmeter %d\nengine %x\ncontroller %x\ninstall ", meter.Version, e.sum, e.base.controller)
	h.Write(installText)
	h.Sum(id[:0])
	return id
}

func (img *Image) build(ctx context.Context, v *env, installText []byte) error {
	base := img.engine.base
	m := v.machine
	defer v.stop.watch(ctx)()
	if err := m.resize(uint32(len(base.memory))); err != nil {
		return err
	}
	copy(m.bytes(), base.memory)
	m.sp.Set(base.sp)
	v.scratch, v.context = base.scratch, base.context
	cc := newCallContext(v)
	text := m.newString(cc, string(installText))
	host := m.call32(cc, xDupValue, uint64(base.host))
	api := m.apply(cc, base.function, base.scratch, host, text)
	if err := v.exception(cc, api); err != nil {
		return err
	}
	for i, name := range apiNames {
		p := m.alloc(cc, name)
		img.api[i] = m.call32(cc, xGetProp, uint64(api), uint64(p))
		m.free(cc, p)
		if err := v.exception(cc, img.api[i]); err != nil {
			return err
		}
		if m.call32(cc, xIsFunction, uint64(img.api[i])) == 0 {
			return fmt.Errorf("the controller's api has no function %q", name)
		}
	}
	for m.call32(cc, xExecuteJob) != 0 { // the controller may use promises while it installs
	}
	if len(v.reject.list) > 0 {
		return errors.New("the controller left a rejected promise")
	}
	m.call(cc, xRunGC)
	img.heap = m.call32(cc, xAllocatedSize)
	img.size = m.mem.Size()
	img.sp = m.sp.Get()
	img.pages = diff(m.bytes(), []span{{len(base.memory), base.memory}})
	img.spans = spansOf(int(img.size)/diffPage, img.page)
	h := sha256.New()
	h.Write(base.sum[:])
	binary.Write(h, binary.LittleEndian, img.pages.index) //nolint:errcheck // hashes don't fail
	h.Write(img.pages.data)
	h.Sum(img.sum[:0])
	return nil
}

// exception takes the pending exception if v, a result, says that there is one.
func (e *env) exception(ctx context.Context, v uint32) error {
	m := e.machine
	if !m.isException(ctx, v) {
		return nil
	}
	m.freeValue(ctx, v)
	exc := m.call32(ctx, xGetException)
	defer m.freeValue(ctx, exc)
	return e.readError(ctx, exc)
}

// readError reads an error's fields without the controller's help. It's for errors of the controller and the engine, since
// it would run getters.
func (e *env) readError(ctx context.Context, exc uint32) *GuestError {
	m := e.machine
	get := func(name string) string {
		p := m.alloc(ctx, name)
		if p == 0 {
			return ""
		}
		defer m.free(ctx, p)
		v := m.call32(ctx, xGetProp, uint64(exc), uint64(p))
		if m.isException(ctx, v) {
			m.freeValue(ctx, v)
			m.freeValue(ctx, m.call32(ctx, xGetException))
			return ""
		}
		defer m.freeValue(ctx, v)
		s, _ := m.stringOf(ctx, v, e.scratch)
		return s
	}
	if s, ok := m.stringOf(ctx, exc, e.scratch); ok {
		return &GuestError{Name: "Error", Message: s}
	}
	read := &GuestError{Name: get("name"), Message: get("message"), Stack: get("stack")}
	if read.Name == "" && read.Message == "" {
		read.Name, read.Message = "InternalError", "out of memory" // not even a property could be read
	}
	return read
}

// load makes the machine's memory the image's. It writes no more than the pages that differ: reading costs less, and pages
// that no guest has written to stay unbacked by the system.
func (img *Image) load(m *machine) {
	mem := m.bytes()
	switch {
	case m.holds == img: // but for m.stale
	case m.used:
		m.stale = differing(mem, img.spans, m.stale[:0])
	default: // all zeros
		m.stale = m.stale[:0]
		at := 0
		for _, s := range img.spans {
			if s.data != nil {
				copy(mem[at:], s.data)
			}
			at += s.size
		}
	}
	for _, n := range m.stale {
		if page := pageOf(mem, int(n)); copy(page, img.page(int(n))) == 0 {
			clear(page)
		}
	}
	m.used, m.holds, m.stale = true, img, m.stale[:0]
	m.sp.Set(img.sp)
}

// page returns a page of the image, or nil if it's zero or past the end.
func (img *Image) page(n int) []byte {
	if p := img.pages.find(n); p != nil {
		return p
	}
	return pageOf(img.engine.base.memory, n)
}
