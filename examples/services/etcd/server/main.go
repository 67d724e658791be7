// The server of etcd, of the version in go.mod. Debian has an older one.
//
//	go build -C examples/services/etcd -o ~/bin/etcd ./server
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
