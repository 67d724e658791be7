package facts

// lazy is a fact that is computed when somebody first asks for it.
type lazy[T any] struct {
	known bool
	value T
}

func (l *lazy[T]) get(compute func() T) T {
	if !l.known {
		l.value, l.known = compute(), true
	}
	return l.value
}

// lazyBy holds a fact about each key, computed when somebody first asks for that key.
type lazyBy[K comparable, T any] map[K]T

func (l *lazyBy[K, T]) get(key K, compute func(K) T) T {
	value, known := (*l)[key]
	if !known {
		value = compute(key)
		if *l == nil {
			*l = lazyBy[K, T]{}
		}
		(*l)[key] = value
	}
	return value
}
