package story

import (
	"slices"
	"unicode/utf8"

	"lockpick/checker/narrative"
	"lockpick/history"
)

// fitColumns chooses the columns and their widths. If there is no room for all masters, it hides
// the least important ones.
func (d *drawing) fitColumns(room int) (shown []column, hidden []string) {
	whole := room
	word := map[string]int{}
	for i := range d.steps {
		marks, _ := d.steps[i].marks()
		for _, m := range marks {
			word[m.who] = max(word[m.who], utf8.RuneCountInString(m.word))
		}
	}
	const gap = 3 // for an arrow between two words
	wide := func(name string, least int) int {
		return max(word[name], min(utf8.RuneCountInString(name), 12), least) + gap
	}
	masters := slices.Clone(d.masters)
	slices.SortStableFunc(masters, func(a, b string) int { return d.weight(b) - d.weight(a) })
	var storage []column
	if d.storage {
		storage = []column{{name: storageLane, width: wide(storageLane, 5)}}
		room -= storage[0].width
	}
	for i, c := range d.clients {
		col := column{name: c, client: true, width: wide(c, 5)}
		room -= col.width
		if i == 1 || i == 0 && len(d.clients) == 1 {
			shown = append(shown, d.fit(masters, wide, room, d.clients[min(i+1, len(d.clients)):])...)
		}
		if len(d.clients) == 1 {
			shown = append([]column{col}, shown...)
		} else {
			shown = append(shown, col)
		}
	}
	if len(d.clients) == 0 {
		shown = d.fit(masters, wide, room, nil)
	}
	shown = append(shown, storage...)
	squeeze(shown, whole)
	for _, m := range d.masters {
		if !slices.ContainsFunc(shown, func(c column) bool { return c.name == m && !c.client }) {
			hidden = append(hidden, m)
		}
	}
	return shown, hidden
}

// squeeze narrows the widest columns until all fit. step then cuts the words of clients that are
// too wide.
func squeeze(columns []column, room int) {
	total := 0
	for _, c := range columns {
		total += c.width
	}
	for ; total > room; total-- {
		widest := 0
		for i, c := range columns {
			if c.width > columns[widest].width {
				widest = i
			}
		}
		columns[widest].width--
	}
}

// fit returns columns for the most important masters, as many as there is room for beside the given
// clients, in the order of their numbers. Of more than five masters it leaves out those of weight
// 0.
func (d *drawing) fit(masters []string, wide func(string, int) int, room int, clients []string) []column {
	for _, c := range clients {
		room -= wide(c, 5)
	}
	var chosen []string
	for _, m := range masters {
		if d.weight(m) == 0 && len(masters) > 5 {
			continue
		}
		if room -= wide(m, 3); room < 0 {
			break
		}
		chosen = append(chosen, m)
	}
	slices.SortFunc(chosen, history.CompareNames)
	var columns []column
	for _, m := range chosen {
		columns = append(columns, column{name: m, width: wide(m, 3)})
	}
	return columns
}

// weight rates the importance of a master for the violation: 4 for each fault, loss, snapshot or
// unexplained event, 2 for each yes to a conflicting lease.
func (d *drawing) weight(master string) int {
	n := 0
	for i := range d.steps {
		for _, e := range d.steps[i].events {
			switch e.Kind {
			case narrative.EventFault, narrative.EventLost, narrative.EventUnexplained, narrative.EventSnapshot, narrative.EventChanged:
				if slices.Contains(e.Masters, master) {
					n += 4
				}
			case narrative.EventAnswered:
				if slices.Contains(e.Yes, master) && slices.Contains(d.v.Tokens, e.Token) {
					n += 2
				}
			}
		}
	}
	return n
}
