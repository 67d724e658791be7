package watch

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"lockpick/cluster/resp"
)

// scripts holds the shapes of the observed Lua scripts, by SHA-1, without their texts.
type scripts struct {
	bySHA map[string]resp.Shape
	// The last text and its hash, to avoid hashing it again.
	text, sha string
}

// maxScripts is the maximum number of shapes that are kept.
const maxScripts = 10_000

func shaOf(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// learn returns the shape of a script's text and keeps it.
func (s *scripts) learn(text string) resp.Shape {
	if text != s.text || s.sha == "" {
		s.text, s.sha = text, shaOf(text)
	}
	if shape, ok := s.bySHA[s.sha]; ok {
		return shape
	}
	shape := resp.ReadShape(text)
	if s.bySHA == nil {
		s.bySHA = map[string]resp.Shape{}
	}
	if len(s.bySHA) < maxScripts {
		s.bySHA[s.sha] = shape
	}
	return shape
}

// shape returns the shape of the script that EVAL or EVALSHA runs; false if its text was never seen.
func (s *scripts) shape(command, script string) (resp.Shape, bool) {
	if command == "eval" {
		return s.learn(script), true
	}
	shape, ok := s.bySHA[strings.ToLower(script)]
	return shape, ok
}
