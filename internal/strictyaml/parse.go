// Package strictyaml reads YAML files within bounds, and tells of each error at which line and
// column it is.
package strictyaml

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a YAML file. What is beyond them is refused before it is parsed or expanded, so
// that no file takes long to be refused.
const (
	maxYAMLBytes  = 256 << 10
	maxYAMLDepth  = 50     // of lists and mappings within each other
	maxYAMLIndent = 200    // spaces
	maxYAMLNodes  = 50_000 // once aliases are expanded
)

// Read reads a file, but no more of it than is allowed.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxYAMLBytes+1)) // parseYAML refuses what is longer
}

// Parse parses a file within the bounds. Errors begin with the line and the column.
func Parse(b []byte, known string) (file *ast.File, err error) {
	defer RefusePanic(&err)
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
		return nil, Explain(err, b, known)
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

// RefusePanic makes an error of a panic of the YAML library.
func RefusePanic(err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("1:1: this is not YAML that can be read: %v", value)
	}
}

// tooDeep finds where text is nested too deeply for the parser, which takes long for it and
// as much of the stack: brackets, list items within a line, indentation. A line of 0: nowhere.
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

// expansion counts the nodes of a file as they are once aliases are expanded.
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
