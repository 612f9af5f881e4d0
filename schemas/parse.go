package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// compactJSON takes the white space out of a JSON text that is known to be correct.
func compactJSON(b []byte) JSON {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// parseJSON decodes one JSON text with exact numbers, refusing what later steps couldn't bear:
// deep nesting, and numbers that don't fit into memory when written out (1e999999999).
func parseJSON(b []byte, depth int) (any, error) {
	if v, ok := quick(b, depth); ok {
		return v, nil
	}
	return parseAny(b, depth)
}

// parseAny is parseJSON for every text.
func parseAny(b []byte, depth int) (any, error) {
	if err := shallow(b, depth); err != nil {
		return nil, err
	}
	v, err := decodeAny(b)
	if err != nil {
		return nil, err
	}
	return v, smallNumbers(v)
}

// decodeAny decodes one JSON text with exact numbers.
func decodeAny(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if len(bytes.TrimSpace(b[d.InputOffset():])) > 0 {
		return nil, errors.New("not JSON: more text follows the value")
	}
	return v, nil
}

// shallow checks that brackets outside strings nest at most so deep.
func shallow(b []byte, depth int) error {
	open, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if open++; open > depth {
				return fmt.Errorf("nested more than %d levels deep", depth)
			}
		case c == '}' || c == ']':
			open--
		}
	}
	return nil
}

// maxDigits and maxExponent leave room for every float64 and any id.
const (
	maxDigits   = 1100
	maxExponent = 3
)

func smallNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		if len(mantissa) > maxDigits || len(strings.TrimLeft(exponent, "+-0")) > maxExponent {
			return errors.New("a number is too long or too large")
		}
	case map[string]any:
		for _, e := range v {
			if err := smallNumbers(e); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := smallNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}
