package main

import (
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

// firstMaster makes go-redis use the first master alone.
func firstMaster(masters []string) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: masters[:1]}
}

// bySentinel makes go-redis ask the Sentinels for the master, as a FailoverClient does. The variables are those of
// examples/services/sentinel.yaml.
func bySentinel([]string) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: strings.Split(os.Getenv("SENTINELS"), ","), MasterName: os.Getenv("MASTER")}
}

// inCluster makes go-redis ask the nodes of a Cluster for the one that has a key, as a ClusterClient does.
func inCluster(masters []string) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: masters, IsClusterMode: true}
}
