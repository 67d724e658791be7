package keyspace

import (
	"slices"
	"strings"
)

var listCommands = map[string]*Command{
	"lpush":     grows(2, -1, push(true, false)),
	"rpush":     grows(2, -1, push(false, false)),
	"lpushx":    grows(2, -1, push(true, true)),
	"rpushx":    grows(2, -1, push(false, true)),
	"lpop":      writes(1, 2, func(db DB, a []string) Reply { return pop(db, a, true) }),
	"rpop":      writes(1, 2, func(db DB, a []string) Reply { return pop(db, a, false) }),
	"llen":      reads(1, 1, typed(List, size)),
	"lindex":    reads(2, 2, typed(List, lindex)),
	"lrange":    reads(3, 3, lrange),
	"lset":      grows(3, 3, lset),
	"ltrim":     writes(3, 3, ltrim),
	"lrem":      writes(3, 3, lrem),
	"linsert":   grows(4, 4, linsert),
	"lpos":      reads(2, -1, lpos),
	"lmove":     grows(4, 4, lmove),
	"rpoplpush": grows(2, 2, func(db DB, a []string) Reply { return move(db, a[0], a[1], false, true) }),
	"lmpop":     writes(3, -1, listPopper.do),

	"blpop":      waits(writes(2, -1, nil), true, waitToPop(List, func(db DB, a []string) Reply { return pop(db, a, true) })),
	"brpop":      waits(writes(2, -1, nil), true, waitToPop(List, func(db DB, a []string) Reply { return pop(db, a, false) })),
	"blmove":     waits(grows(5, 5, nil), true, waitToMove),
	"brpoplpush": waits(grows(3, 3, nil), true, waitToRotate),
	"blmpop":     waits(writes(4, -1, nil), false, waitToPopMany(listPopper)),
}

// push returns LPUSH or one of its variants.
func push(left, onlyExisting bool) func(DB, []string) Reply {
	return typed(List, func(db DB, v Value, args []string) Reply {
		if onlyExisting && v.Parts == nil {
			return Int(0)
		}
		p := copyOf(v.Parts, List)
		for _, x := range args[1:] {
			p.add(x, left)
		}
		db.save(args[0], v, p)
		return Int(int64(p.count()))
	})
}

func (p *Parts) add(x string, left bool) {
	if left {
		p.Elements = slices.Insert(p.Elements, 0, x)
	} else {
		p.Elements = append(p.Elements, x)
	}
}

// take removes an element at an end of a list that has some.
func (p *Parts) take(left bool) (x string) {
	n := len(p.Elements) - 1
	if left {
		x, p.Elements = p.Elements[0], p.Elements[1:]
	} else {
		x, p.Elements = p.Elements[n], p.Elements[:n]
	}
	return x
}

func pop(db DB, args []string, left bool) Reply {
	many, n := len(args) > 1, int64(1)
	if many {
		var ok bool
		if n, ok = Integer(args[1]); !ok || n < 0 {
			return Error(notPositive)
		}
	}
	v, problem := db.typed(args[0], List)
	switch {
	case problem != "":
		return Error(problem)
	case v.Parts == nil && many:
		return Reply{Kind: ReplyNilArray}
	case v.Parts == nil:
		return Nil
	case n == 0:
		return Array()
	}
	all := popElements(db, args[0], left, n)
	if !many {
		return all.Items[0]
	}
	return all
}

// position converts an index, which counts from the end if it is negative.
func (p *Parts) position(i int64) (at int, ok bool) {
	n := int64(p.count())
	if i < 0 {
		i += n
	}
	return int(i), i >= 0 && i < n
}

func lindex(_ DB, v Value, args []string) Reply {
	i, ok := Integer(args[1])
	switch at, exists := v.Parts.position(i); {
	case v.Parts == nil:
		return Nil
	case !ok:
		return Error(notInteger)
	case !exists:
		return Nil
	default:
		return Bulk(v.Parts.Elements[at])
	}
}

// indexes parses the two indexes after a key, before Redis looks at the key.
func (db DB) indexes(args []string, kind string) (v Value, first, last int64, problem string) {
	first, ok := Integer(args[1])
	last, ok2 := Integer(args[2])
	if !ok || !ok2 {
		return v, 0, 0, notInteger
	}
	v, problem = db.typed(args[0], kind)
	return v, first, last, problem
}

func lrange(db DB, args []string) Reply {
	v, first, last, problem := db.indexes(args, List)
	if problem != "" {
		return Error(problem)
	}
	from, to := span(first, last, v.Parts.count())
	return Bulks(v.Parts.elements()[from:to])
}

func ltrim(db DB, args []string) Reply {
	v, first, last, problem := db.indexes(args, List)
	if problem != "" {
		return Error(problem)
	}
	if v.Parts != nil {
		p := copyOf(v.Parts, List)
		from, to := span(first, last, p.count())
		p.Elements = p.Elements[from:to]
		db.save(args[0], v, p)
	}
	return OK
}

func lset(db DB, args []string) Reply {
	v, exists := db.s.Get(args[0], db.now)
	switch {
	case !exists:
		return Error(noSuchKey)
	case v.Type() != List:
		return Error(wrongType)
	}
	i, ok := Integer(args[1])
	if !ok {
		return Error(notInteger)
	}
	at, ok := v.Parts.position(i)
	if !ok {
		return Error(outOfRange)
	}
	p := copyOf(v.Parts, List)
	p.Elements[at] = args[2]
	db.save(args[0], v, p)
	return OK
}

func lrem(db DB, args []string) Reply {
	n, ok := Integer(args[1])
	if !ok {
		return Error(notInteger)
	}
	v, problem := db.typed(args[0], List)
	if problem != "" {
		return Error(problem)
	}
	p := copyOf(v.Parts, List)
	if n < 0 {
		slices.Reverse(p.Elements)
	}
	most, removed := max(n, -n), int64(0)
	p.Elements = slices.DeleteFunc(p.Elements, func(x string) bool {
		if x != args[2] || most > 0 && removed == most {
			return false
		}
		removed++
		return true
	})
	if n < 0 {
		slices.Reverse(p.Elements)
	}
	if removed > 0 {
		db.save(args[0], v, p)
	}
	return Int(removed)
}

func linsert(db DB, args []string) Reply {
	where := strings.ToLower(args[1])
	if where != "before" && where != "after" {
		return Error(syntaxError)
	}
	v, problem := db.typed(args[0], List)
	if problem != "" {
		return Error(problem)
	}
	if v.Parts == nil {
		return Int(0)
	}
	at := slices.Index(v.Parts.Elements, args[2])
	if at < 0 {
		return Int(-1)
	}
	if where == "after" {
		at++
	}
	p := copyOf(v.Parts, List)
	p.Elements = slices.Insert(p.Elements, at, args[3])
	db.save(args[0], v, p)
	return Int(int64(p.count()))
}

func lpos(db DB, args []string) Reply {
	rank, number, longest := int64(1), int64(-1), int64(0)
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return Error(syntaxError)
		}
		n, ok := Integer(args[i+1])
		switch word := strings.ToLower(args[i]); {
		case word != "rank" && word != "count" && word != "maxlen":
			return Error(syntaxError)
		case !ok && word == "rank":
			return Error(notInteger)
		case word == "rank" && n == 0:
			return Error("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list")
		case word == "rank":
			rank = n
		case !ok || n < 0:
			return Error("ERR " + strings.ToUpper(word) + " can't be negative")
		case word == "count":
			number = n
		default:
			longest = n
		}
	}
	v, problem := db.typed(args[0], List)
	if problem != "" {
		return Error(problem)
	}
	all := v.Parts.elements()
	r := Reply{Kind: ReplyArray}
	matches := int64(0)
	for i := range all {
		at := i
		if rank < 0 {
			at = len(all) - 1 - i
		}
		if longest > 0 && int64(i) >= longest || number > 0 && int64(len(r.Items)) == number {
			break
		}
		if all[at] != args[1] {
			continue
		}
		if matches++; matches < max(rank, -rank) {
			continue
		}
		if r.Items = append(r.Items, Int(int64(at))); number < 0 {
			return r.Items[0]
		}
	}
	if number < 0 {
		return Nil
	}
	return r
}

func lmove(db DB, args []string) Reply {
	fromLeft, toLeft, problem := ends(args[2], args[3])
	if problem != "" {
		return Error(problem)
	}
	return move(db, args[0], args[1], fromLeft, toLeft)
}

// ends parses the words for two ends of lists.
func ends(from, to string) (fromLeft, toLeft bool, problem string) {
	from, to = strings.ToLower(from), strings.ToLower(to)
	if from != "left" && from != "right" || to != "left" && to != "right" {
		problem = syntaxError
	}
	return from == "left", to == "left", problem
}

// move takes an element from an end of a list and puts it at an end of another or the same.
func move(db DB, source, destination string, fromLeft, toLeft bool) Reply {
	v, problem := db.typed(source, List)
	switch {
	case problem != "":
		return Error(problem)
	case v.Parts == nil:
		return Nil
	}
	if _, problem = db.typed(destination, List); problem != "" {
		return Error(problem)
	}
	p := copyOf(v.Parts, List)
	x := p.take(fromLeft)
	if source == destination {
		p.add(x, toLeft)
		db.save(source, v, p)
		return Bulk(x)
	}
	db.save(source, v, p)
	w, _ := db.typed(destination, List)
	q := copyOf(w.Parts, List)
	q.add(x, toLeft)
	db.save(destination, w, q)
	return Bulk(x)
}
