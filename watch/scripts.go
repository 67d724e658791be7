package watch

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"lockpick/cluster/resp"
)

// scripts are the shapes of the Lua scripts that were seen, by hash. Their texts are not kept.
type scripts struct {
	bySHA map[string]resp.Shape
	// recent avoids the hash of the text that was read last.
	text, sha string
}

// maxScripts bounds how many are kept.
const maxScripts = 10_000

func shaOf(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// learn reads a script's text.
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

// shape returns that of the script which EVAL or EVALSHA runs.
func (s *scripts) shape(command, script string) (resp.Shape, bool) {
	if command == "eval" {
		return s.learn(script), true
	}
	shape, ok := s.bySHA[strings.ToLower(script)]
	return shape, ok
}
