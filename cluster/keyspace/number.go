package keyspace

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

func increaseBy(db DB, key, by string, sign int64) Reply {
	n, ok := Integer(by)
	switch {
	case !ok:
		return Error(notInteger)
	case sign < 0 && n == math.MinInt64:
		return Error("ERR decrement would overflow")
	}
	return increase(db, key, sign*n)
}

func increase(db DB, key string, by int64) Reply {
	v, problem := db.typed(key, String)
	if problem != "" {
		return Error(problem)
	}
	n, ok := int64(0), true
	if v.Text != "" || db.s.find(key) >= 0 {
		n, ok = Integer(v.Text)
	}
	if !ok {
		return Error(notInteger)
	}
	if n, ok = sum(n, by); !ok {
		return Error(overflow)
	}
	v.Text = strconv.FormatInt(n, 10)
	db.s.Put(key, v)
	return Int(n)
}

// sum adds numbers; ok: the sum is one.
func sum(n, by int64) (result int64, ok bool) {
	return n + by, !(by < 0 && n < math.MinInt64-by || by > 0 && n > math.MaxInt64-by)
}

func increaseByFloat(db DB, v Value, args []string) Reply {
	text, problem := sumOfDecimals(v.Text, args[1], notFloat)
	if problem != "" {
		return Error(problem)
	}
	v.Text = text
	db.s.Put(args[0], v)
	return Bulk(text)
}

// sumOfDecimals adds numbers with the precision of a long double, as Redis does. An empty number
// counts as 0. problem is the text of an error, notNumber if x is none.
func sumOfDecimals(x, by, notNumber string) (text, problem string) {
	if x == "" {
		x = "0"
	}
	a, ok := decimal(x)
	if !ok {
		return "", notNumber
	}
	b, ok := decimal(by)
	if !ok {
		return "", notFloat
	}
	if a.IsInf() || b.IsInf() {
		return "", "ERR increment would produce NaN or Infinity"
	}
	text = a.Add(a, b).Text('f', 17)
	if text = strings.TrimRight(strings.TrimRight(text, "0"), "."); text == "-0" {
		text = "0"
	}
	return text, ""
}

// decimal parses a number with the precision of a long double.
func decimal(s string) (*big.Float, bool) {
	if _, ok := float(s); !ok {
		return nil, false
	}
	x, _, err := big.ParseFloat(s, 0, 64, big.ToNearestEven)
	return x, err == nil
}
