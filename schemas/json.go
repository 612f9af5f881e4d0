package schemas

// JSON is one JSON text, opaque to the bus: it is never decoded into Go values on its
// way, so numbers keep their digits and keys keep their order. Empty means undefined.
type JSON []byte

// MarshalJSON gives the text as it is; undefined becomes null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps the text as it is.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = append((*j)[:0], b...)
	return nil
}
