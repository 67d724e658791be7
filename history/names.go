package history

import "cmp"

// CompareNames compares names of processes for sorting. Those that differ only in the number at their end are in the
// order of that number: c2 before c10.
func CompareNames(a, b string) int {
	stem := func(s string) (string, string) {
		i := len(s)
		for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
			i--
		}
		return s[:i], s[i:]
	}
	aStem, aNumber := stem(a)
	bStem, bNumber := stem(b)
	return cmp.Or(cmp.Compare(aStem, bStem), cmp.Compare(len(aNumber), len(bNumber)), cmp.Compare(aNumber, bNumber))
}
