// Package strictyaml reads YAML files within bounds, and reports each error with its line and column.
package strictyaml

import (
	"bytes"
	"fmt"
	"io"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"lockpick/internal/otherfile"
)

// The bounds of a YAML file. A file beyond them is rejected before it is parsed or expanded, so that no file
// takes long to be rejected.
const (
	maxYAMLBytes  = 256 << 10
	maxYAMLDepth  = 50     // nested lists and mappings
	maxYAMLIndent = 200    // spaces or tabs
	maxYAMLNodes  = 50_000 // after the expansion of aliases
)

// read reads a file up to one byte beyond the allowed size.
func read(path string) ([]byte, error) {
	f, err := otherfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxYAMLBytes+1)) // parse rejects a longer file
}

// parse parses a file within the bounds. known lists the valid fields, for the error on an unknown one.
// Errors begin with the line and the column.
func parse(b []byte, known string) (file *ast.File, err error) {
	if len(b) > maxYAMLBytes {
		return nil, fmt.Errorf("1:1: the file is larger than %d KiB", maxYAMLBytes>>10)
	}
	if line, column := tooDeep(b); line > 0 {
		return nil, fmt.Errorf("%d:%d: nested too deeply: at most %d lists and mappings within each other", line, column, maxYAMLDepth)
	}
	tokens := lexer.Tokenize(string(b))
	for _, t := range tokens {
		if t.Type == token.TagType {
			return nil, fmt.Errorf("%d:%d: %s: tags have no meaning here", t.Position.Line, t.Position.Column, t.Value)
		}
	}
	if file, err = parser.Parse(tokens, 0); err != nil {
		return nil, explain(err, b, known)
	}
	e := expansion{anchors: map[string]int{}}
	for _, doc := range file.Docs {
		e.count(doc.Body, 0)
	}
	if at := e.refused; at != nil {
		return nil, fmt.Errorf("%d:%d: %s", at.Position.Line, at.Position.Column, e.why)
	}
	return file, nil
}

// RefusePanic turns a panic of the YAML library into an error. It must be deferred.
func RefusePanic(err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("1:1: this is not YAML that can be read: %v", value)
	}
}

// tooDeep returns the position at which text is nested too deeply for the parser, which would take long and
// use much of the stack: brackets, list items within a line, indentation. It returns the line 0 if there is
// none.
func tooDeep(b []byte) (line, column int) {
	depth := 0
	for row := range bytes.Lines(b) {
		line++
		if indent := len(row) - len(bytes.TrimLeft(row, " \t")); indent > maxYAMLIndent {
			return line, indent + 1
		}
		items := 0
		for i, c := range row {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(0, depth-1)
			case '-', '?', ':':
				items++
			case ' ', '\t', '\n', '\r':
			default:
				items = 0
			}
			if depth > maxYAMLDepth || items > maxYAMLDepth {
				return line, i + 1
			}
		}
	}
	return 0, 0
}

// expansion counts the nodes of a file as if its aliases were expanded.
type expansion struct {
	anchors map[string]int
	refused *token.Token
	why     string
}

func (e *expansion) refuse(n ast.Node, why string) {
	if e.refused == nil {
		e.refused, e.why = n.GetToken(), why
	}
}

func (e *expansion) count(n ast.Node, depth int) (size int) {
	if n == nil || e.refused != nil {
		return 0
	}
	if depth > 4*maxYAMLDepth {
		e.refuse(n, "nested too deeply")
		return 0
	}
	size = 1
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			size += e.count(v, depth+1)
		}
	case *ast.MappingValueNode:
		size += e.count(n.Key, depth+1) + e.count(n.Value, depth+1)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			size += e.count(v, depth+1)
		}
	case *ast.AnchorNode:
		size = e.count(n.Value, depth+1)
		e.anchors[n.Name.String()] = size
	case *ast.AliasNode:
		size = max(1, e.anchors[n.Value.String()])
	}
	if size > maxYAMLNodes {
		e.refuse(n, fmt.Sprintf("too much: with its aliases expanded it has more than %d values", maxYAMLNodes))
	}
	return size
}
