package workload

// textbooks lists the textbook locks without a bug: the twins of the planted bugs.
var textbooks = []Implementation{
	{
		Name: "textbook", Fencing: true, Claims: []int{10, 11, 16, 24, 51},
		Summary: "Redlock in few lines, step by step as in the text: what the planted bugs are made of",
		Retry:   delayMax, New: textbookWith(mutations{}),
	},
	{
		Name: "textbook-single", Fencing: true, Masters: OneMaster, Claims: []int{3},
		Summary: "the same on the first master alone: SET NX PX, and a script that compares and deletes",
		Retry:   delayMax, New: singleWith(mutations{}),
	},
	{
		Name: "textbook-renewing", Fencing: true, Claims: []int{57},
		Summary:  "the textbook with a watchdog: leases are extended in the background, up to 10 times, and end when that fails",
		Renewals: maxExtensions, Retry: delayMax, New: textbookWith(mutations{renews: true}),
	},
}

func textbookWith(r mutations) func(Env) (Lock, error) {
	return func(s Env) (Lock, error) { return newTextbook(s, r) }
}

func singleWith(r mutations) func(Env) (Lock, error) {
	return func(s Env) (Lock, error) { return newTextbook(s.first(), r) }
}
