package tool

import (
	"cmp"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Callable is a function in the scope of a [Namespace]: programs call it, and it calls a tool (K2).
type Callable struct {
	// Tool is one of the namespace's required tools.
	Tool string
	// Input, unless nil, makes the tool's input: data in which [Arg] stands for an argument of the function. If it's nil, the
	// first argument is the input.
	Input any
}

// Arg stands in the Input of a [Callable] for an argument of the call, counted from 0. One that wasn't given is left out.
type Arg int

// maxScopeNesting ends the walk through Go values long after a scope is too deep.
const maxScopeNesting = 4 * schemas.MaxScopeDepth

// scopeJSON gives the JSON of a scope. A Go function and a value that contains itself are errors. What else has no JSON
// becomes something that has:
//
//	NaN, infinity                      null
//	text that isn't UTF-8              with U+FFFD for what is wrong in it
//	[]byte                             base64
//	error                              its message
//	a marshaler that fails, raw JSON that is none, chan, complex, map with keys that aren't texts or numbers
//	                                   its type in brackets, such as "[chan int]"
func scopeJSON(scope any) (schemas.JSON, error) {
	w := &scopeWriter{open: make(map[opened]bool)}
	if err := w.value(reflect.ValueOf(scope)); err != nil {
		return nil, err
	}
	return w.b, nil
}

// scopeWriter writes one scope.
type scopeWriter struct {
	b schemas.JSON
	// open are the objects that the value is in: an object may be in two places, but not in itself.
	open map[opened]bool
	path []string
}

// opened identifies an object.
type opened struct {
	kind    reflect.Type
	pointer uintptr
	length  int
}

func (w *scopeWriter) fault(text string) error {
	return fmt.Errorf("the scope is refused: at %s: %s", clip(cmp.Or(strings.Join(w.path, "."), "its top"), 200), text)
}

func (w *scopeWriter) text(text string) {
	b, _ := encode(text) // text can be encoded
	w.b = append(w.b, b...)
}

func (w *scopeWriter) fallback(v reflect.Value) { w.text("[" + clip(v.Type().String(), 100) + "]") }

func (w *scopeWriter) value(v reflect.Value) error {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		w.b = append(w.b, "null"...)
		return nil
	case len(w.path) > maxScopeNesting:
		return w.fault("it is nested too deep")
	case len(w.b) > schemas.MaxScopeBytes:
		return w.fault(fmt.Sprintf("it is larger than %d bytes", schemas.MaxScopeBytes))
	}
	if done, err := w.known(v); done {
		return err
	}
	switch v.Kind() {
	case reflect.Func:
		return w.fault("a Go function can't cross to programs; offer it as a tool, and put a tool.Callable here")
	case reflect.Bool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.b = strconv.AppendInt(w.b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.b = strconv.AppendUint(w.b, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		w.number(v.Float())
	case reflect.String:
		w.text(v.String())
	case reflect.Pointer:
		return w.inside(v, func() error { return w.value(v.Elem()) })
	case reflect.Slice, reflect.Array:
		return w.inside(v, func() error { return w.list(v) })
	case reflect.Map:
		return w.inside(v, func() error { return w.table(v) })
	case reflect.Struct:
		return w.fields(v)
	default: // channels, complex numbers, unsafe pointers
		w.fallback(v)
	}
	return nil
}

func (w *scopeWriter) number(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.b = append(w.b, "null"...)
		return
	}
	w.b = strconv.AppendFloat(w.b, f, 'g', -1, 64)
}

// known writes values that say themselves what they are.
func (w *scopeWriter) known(v reflect.Value) (done bool, err error) {
	if !v.CanInterface() || v.Kind() == reflect.Pointer && v.IsNil() {
		return false, nil
	}
	switch x := v.Interface().(type) {
	case Callable:
		return true, w.callable(&x)
	case *Callable:
		return true, w.callable(x)
	case Arg:
		w.b = fmt.Appendf(w.b, `{"$arg":%d}`, int(x))
	case json.Number:
		w.raw(v, string(x))
	case json.RawMessage:
		w.raw(v, cmp.Or(string(x), "null"))
	case schemas.JSON:
		w.raw(v, cmp.Or(string(x), "null")) // empty is undefined
	case []byte:
		w.text(base64.StdEncoding.EncodeToString(x))
	case json.Marshaler:
		text, err := guarded(x.MarshalJSON)
		if err != nil {
			w.fallback(v)
			break
		}
		w.raw(v, string(text))
	case encoding.TextMarshaler:
		text, err := guarded(x.MarshalText)
		if err != nil {
			w.fallback(v)
			break
		}
		w.text(string(text))
	case error:
		text, err := guarded(func() ([]byte, error) { return []byte(x.Error()), nil })
		if err != nil {
			w.fallback(v)
			break
		}
		w.text(string(text))
	default:
		return false, nil
	}
	return true, nil
}

// guarded calls a method of the owner's, which may panic.
func guarded(marshal func() ([]byte, error)) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return marshal()
}

// raw writes JSON text, if it is some.
func (w *scopeWriter) raw(v reflect.Value, text string) {
	if !json.Valid([]byte(text)) {
		w.fallback(v)
		return
	}
	w.b = append(w.b, strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD")...)
}

func (w *scopeWriter) callable(c *Callable) error {
	w.b = append(w.b, `{"$tool":`...)
	w.text(c.Tool)
	if c.Input != nil {
		w.b = append(w.b, `,"input":`...)
		w.path = append(w.path, "Input")
		if err := w.value(reflect.ValueOf(c.Input)); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.b = append(w.b, '}')
	return nil
}

// inside writes what an object holds, unless it is in itself.
func (w *scopeWriter) inside(v reflect.Value, write func() error) error {
	if v.Kind() == reflect.Array {
		return write()
	}
	if v.IsNil() {
		w.b = append(w.b, "null"...)
		return nil
	}
	id := opened{kind: v.Type(), pointer: v.Pointer()}
	if v.Kind() == reflect.Slice {
		id.length = v.Len()
	}
	if w.open[id] {
		return w.fault("it is circular: a value is inside itself")
	}
	w.open[id] = true
	defer delete(w.open, id)
	return write()
}

// member writes a value at a key or place.
func (w *scopeWriter) member(name string, v reflect.Value) error {
	w.path = append(w.path, name)
	if err := w.value(v); err != nil {
		return err
	}
	w.path = w.path[:len(w.path)-1]
	return nil
}

func (w *scopeWriter) list(v reflect.Value) error {
	w.b = append(w.b, '[')
	for i := range v.Len() {
		w.comma('[')
		if err := w.member(strconv.Itoa(i), v.Index(i)); err != nil {
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

// comma separates from the member before, if there is one.
func (w *scopeWriter) comma(begin byte) {
	if w.b[len(w.b)-1] != begin {
		w.b = append(w.b, ',')
	}
}

func (w *scopeWriter) entry(name string, v reflect.Value) error {
	w.comma('{')
	w.text(name)
	w.b = append(w.b, ':')
	return w.member(name, v)
}

func (w *scopeWriter) table(v reflect.Value) error {
	type row struct {
		key   string
		value reflect.Value
	}
	rows := make([]row, 0, v.Len())
	for at := v.MapRange(); at.Next(); {
		key, ok := keyText(at.Key())
		if !ok {
			w.fallback(v)
			return nil
		}
		rows = append(rows, row{key, at.Value()})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.key, b.key) })
	w.b = append(w.b, '{')
	for _, r := range rows {
		if err := w.entry(r.key, r.value); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

// keyText is a map's key as JSON has it, if that is a text or a number.
func keyText(key reflect.Value) (text string, ok bool) {
	if key.Kind() == reflect.Interface {
		key = key.Elem()
	}
	if key.IsValid() && key.CanInterface() {
		if x, is := reflect.TypeAssert[encoding.TextMarshaler](key); is && key.Kind() != reflect.String {
			made, err := guarded(x.MarshalText)
			return string(made), err == nil
		}
	}
	switch {
	case key.Kind() == reflect.String:
		return key.String(), true
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10), true
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10), true
	}
	return "", false
}

// fields writes a struct by its json tags.
func (w *scopeWriter) fields(v reflect.Value) error {
	w.b = append(w.b, '{')
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, err := v.FieldByIndexErr(f.Index)
		switch {
		case err != nil, !f.IsExported(), f.Tag.Get("json") == "-", f.Anonymous && name == "":
			continue
		case strings.Contains(options, "omit") && empty(value):
			continue
		}
		if err := w.entry(cmp.Or(name, f.Name), value); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

func empty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0
}
