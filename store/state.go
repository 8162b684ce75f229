package store

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// State is what tasks put into a checkpoint: values by key. It is an ordinary map that belongs to its holder.
//
// A store keeps values as JSON and hands them back in these types: nil, bool, string, int64 (uint64 beyond its range),
// float64, []any and map[string]any. Integers keep all 64 bits, and a float stays a float even when it is whole. A number
// that neither int64, uint64 nor float64 holds without loss comes back as [json.Number]. Anything else that encoding/json
// can marshal may be put in; bytes are kept as base64 text. [Get] reads any of it back in the type it went in.
//
// A nil value is an entry: it has a key, it is stored, and Get says that there is no value.
type State map[string]any

// Get reads the value of a key as a T. A value of that type is returned as it is (it is not copied); any other is
// converted as encoding/json would: a map into a struct, a list into a slice of its elements, base64 text into bytes, an
// int64 into any number type that can hold it. What cannot be converted is a [*TypeError]. The second result is
// false when there is no such key, or when its value is nil.
func Get[T any](s State, key string) (T, bool, error) {
	var t T
	v, ok := s[key]
	if !ok || v == nil {
		return t, false, nil
	}
	if same, ok := v.(T); ok {
		return same, true, nil
	}
	b, err := appendValue(nil, v, 0)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		var zero T
		wanted := reflect.TypeFor[T]().String()
		return zero, false, &TypeError{Key: key, Stored: fmt.Sprintf("%T", v), Wanted: wanted, Err: err}
	}
	return t, true, nil
}
