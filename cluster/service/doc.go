// Package service runs the servers of any program as masters: the nodes of a store. What it needs to
// know of the program is a description (package spec).
//
//	client c1 ──link──► m1 ◄──link──► m2     each arrow is a TCPLink of this process
//
// A node is a process that ends with the harness, as a redis-server does (package process). Its ports are known to the
// harness alone: clients and other nodes get the addresses of links. Each pair of nodes has a link for each direction,
// so that faults can cut any node from any other. Where all nodes get the same address of a node (Link), its link finds
// out by the socket which process dials. Some stores tell their clients such addresses, too (Sentinel, MOVED of Redis Cluster): then the
// link finds the client by a mark in its environment, and leads to the client's own link. A link listens only while its node's process lives, because a node that
// is down refuses connections.
//
// A connection that goes past the links would be out of reach for faults. A look at the machine's connections finds
// one (Bypass), and the run ends.
package service
