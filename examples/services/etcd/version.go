package main

import "runtime/debug"

// version returns the version of etcd's client in this program.
func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == "go.etcd.io/etcd/client/v3" {
			return m.Version
		}
	}
	return "of unknown version"
}
