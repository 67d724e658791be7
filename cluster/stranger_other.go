//go:build !linux

package cluster

import "net"

// fromStranger is not known on this system.
func fromStranger(*net.TCPConn) bool { return false }

// toStranger is not known on this system.
func toStranger(*net.TCPConn) bool { return false }

// DialerInode is not known on this system: 0.
func DialerInode(*net.TCPConn) uint32 { return 0 }
