package checker_test

import (
	"time"

	"lockpick/history"
)

// place says on which keys of a multi-lock an acquire drawn for one key happens, with all that follows from it: on that key, on
// another one that belongs to it, or on both at once. What is exclusive on the key stays so.
type place int

const (
	onFirst place = 1 << iota
	onOther
)

// otherKey returns the key that belongs to a key: j0 to k0.
func otherKey(key string) string {
	if key == "" {
		return ""
	}
	return key[:len(key)-2] + "j" + key[len(key)-1:]
}

// placed returns a line of a multi-lock once for each key on which it happens.
func (m *maker) placed(op history.Op) []history.Op {
	v := op.Value
	if v == nil {
		v = &history.Value{}
	}
	if v.Keys != nil {
		x := *v
		if x.Keys = map[string]string{}; v.Expires != nil {
			x.Expires = map[string]time.Duration{}
		}
		for key, token := range v.Keys {
			for _, at := range m.keysOf(key, m.places[token]) {
				x.Keys[at] = token
				if end, known := v.Expires[key]; known {
					x.Expires[at] = end
				}
			}
		}
		op.Value = &x
		return []history.Op{op}
	}
	on := m.places[v.Token]
	for _, c := range m.clients {
		if c.name == op.Process && v.Token == "" {
			on = c.place
		}
	}
	var all []history.Op
	for _, key := range m.keysOf(op.Key, on) {
		copied := op
		if copied.Key = key; key != op.Key && v.RedisKey != "" {
			x := *v
			x.RedisKey = otherKey(v.RedisKey)
			copied.Value = &x
		}
		all = append(all, copied)
	}
	return all
}

func (m *maker) keysOf(key string, on place) []string {
	switch {
	case key == "" || on&onOther == 0:
		return []string{key}
	case on&onFirst == 0:
		return []string{otherKey(key)}
	}
	return []string{key, otherKey(key)}
}
