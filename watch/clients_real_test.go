//go:build real

package watch

func init() { // its module takes minutes to build
	libraries = append(libraries, library{name: "redsync", masters: 3, dir: "../clients/go", command: []string{"redsync"}})
}
