package sim

import (
	"path"
	"slices"
	"strings"
)

// deliver sends a message to all subscribers, and returns their number. Connections of
// simulated locks never subscribe: only streams do.
func (m *Master) deliver(channel, text string) (n int64) {
	for _, x := range slices.Clone(m.listeners) {
		s := &x.session
		sent := n
		if s.listens[channel] {
			s.write(reply{kind: replyPush, items: []reply{bulkReply("message"), bulkReply(channel), bulkReply(text)}})
			n++
		}
		for pattern := range s.patterns {
			if matches(pattern, channel) {
				s.write(reply{kind: replyPush, items: []reply{bulkReply("pmessage"), bulkReply(pattern), bulkReply(channel), bulkReply(text)}})
				n++
			}
		}
		if n > sent {
			x.reply(m, 0)
		}
	}
	return n
}

// subscribers counts the connections that have subscribed to a channel by its name.
func (m *Master) subscribers(channel string) (n int64) {
	for _, x := range m.listeners {
		if x.session.listens[channel] {
			n++
		}
	}
	return n
}

// matches implements Redis's glob, as far as path.Match supports it: * also matches
// slashes.
func matches(pattern, s string) bool {
	slash := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(slash.Replace(pattern), slash.Replace(s))
	return ok && err == nil
}

func publish(db DB, args []string) reply { return intReply(db.m.deliver(args[0], args[1])) }

func pubsub(db DB, args []string) reply {
	switch strings.ToLower(args[0]) {
	case "numsub":
		r := reply{kind: replyArray}
		for _, channel := range args[1:] {
			r.items = append(r.items, bulkReply(channel), intReply(db.m.subscribers(channel)))
		}
		return r
	case "numpat":
		all := map[string]bool{}
		for _, x := range db.m.listeners {
			for p := range x.session.patterns {
				all[p] = true
			}
		}
		return intReply(int64(len(all)))
	case "channels":
		all := map[string]bool{}
		for _, x := range db.m.listeners {
			for c := range x.session.listens {
				if len(args) < 2 || matches(args[1], c) {
					all[c] = true
				}
			}
		}
		r := reply{kind: replyArray}
		for c := range all {
			r.items = append(r.items, bulkReply(c))
		}
		return r
	}
	return errorReply("ERR unknown subcommand or wrong number of arguments for '" + args[0] + "'. Try PUBSUB HELP.")
}
