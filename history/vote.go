package history

import (
	"cmp"
	"slices"
	"time"
)

// Vote is one master's reply to one lock command, or the lack of a reply.
type Vote struct {
	Index   int
	At      time.Duration // when the client received the reply, or gave up waiting for it
	Took    time.Duration
	TTL     time.Duration // the TTL in a SET or an extension; 0 if it was not recorded
	Master  string
	Client  string
	Key     string // the lock's name
	Stored  string // the key in Redis; the lock's name unless the vote has another
	Token   string
	Command string // CommandSet, CommandExtend, …
	Form    string // the command that the master executed, without its arguments; empty: the lock reported the vote itself
	Yes     bool   // the master executed the command with effect
	Maybe   bool   // the client had a reply, which may have been a yes; it is unknown, too
	Unknown bool   // there was no reply: the master may or may not have executed the command
	Error   string // the reply, if it was an error, or why there was none
}

// Refused reports whether the master replied that it did nothing, because of what the key stored. A reply that
// is an error says nothing about the key.
func (v *Vote) Refused() bool { return !v.Yes && !v.Unknown && v.Error == "" }

// Votes returns the votes of a history in the order in which clients received them.
func Votes(ops []Op) []Vote {
	n := 0
	for i := range ops {
		if ops[i].F == FVote && ops[i].Value != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	votes := make([]Vote, 0, n)
	for i := range ops {
		op := &ops[i]
		if op.F != FVote || op.Value == nil {
			continue
		}
		votes = append(votes, Vote{
			Index: op.Index, At: op.Time - op.Value.Delay, Took: op.Value.Took, TTL: op.Value.TTL,
			Master: op.Process, Client: op.Value.Client, Key: op.Key, Stored: cmp.Or(op.Value.RedisKey, op.Key),
			Token: op.Value.Token, Command: op.Value.Command, Form: op.Value.Form, Yes: op.Type == OK && op.Value.Yes,
			Maybe: op.Type == Info && op.Value.Yes, Unknown: op.Type == Info, Error: op.Error,
		})
	}
	slices.SortStableFunc(votes, func(a, b Vote) int { return cmp.Compare(a.At, b.At) })
	return votes
}
