// Package services contains the scenarios of stores other than Redis masters, and the clients in Python that use them.
package services

import "embed"

// Files are the scenarios and the clients.
//
//go:embed etcd.yaml zookeeper.yaml sentinel.yaml cluster.yaml etcd3_lock.py kazoo_lock.py tooz_lock.py redis_lock.py
var Files embed.FS
