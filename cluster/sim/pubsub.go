package sim

import (
	"slices"
	"strings"

	"lockpick/cluster/keyspace"
)

// deliver sends a message to all subscribers, and returns their number. Connections of
// simulated locks never subscribe: only streams do.
func (m *Master) deliver(channel, text string) (n int64) {
	for _, x := range slices.Clone(m.listeners) {
		s := &x.session
		sent := n
		if s.listens[channel] {
			s.write(keyspace.Reply{Kind: keyspace.ReplyPush, Items: []keyspace.Reply{keyspace.Bulk("message"), keyspace.Bulk(channel), keyspace.Bulk(text)}})
			n++
		}
		for pattern := range s.patterns {
			if keyspace.Matches(pattern, channel) {
				s.write(keyspace.Reply{Kind: keyspace.ReplyPush, Items: []keyspace.Reply{keyspace.Bulk("pmessage"), keyspace.Bulk(pattern), keyspace.Bulk(channel), keyspace.Bulk(text)}})
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

func publish(m *Master, args []string) keyspace.Reply {
	return keyspace.Int(m.deliver(args[0], args[1]))
}

func pubsub(m *Master, args []string) keyspace.Reply {
	switch strings.ToLower(args[0]) {
	case "numsub":
		r := keyspace.Reply{Kind: keyspace.ReplyArray}
		for _, channel := range args[1:] {
			r.Items = append(r.Items, keyspace.Bulk(channel), keyspace.Int(m.subscribers(channel)))
		}
		return r
	case "numpat":
		all := map[string]bool{}
		for _, x := range m.listeners {
			for p := range x.session.patterns {
				all[p] = true
			}
		}
		return keyspace.Int(int64(len(all)))
	case "channels":
		all := map[string]bool{}
		for _, x := range m.listeners {
			for c := range x.session.listens {
				if len(args) < 2 || keyspace.Matches(args[1], c) {
					all[c] = true
				}
			}
		}
		r := keyspace.Reply{Kind: keyspace.ReplyArray}
		for c := range all {
			r.Items = append(r.Items, keyspace.Bulk(c))
		}
		return r
	}
	return m.unknownSubcommand("pubsub", args)
}
