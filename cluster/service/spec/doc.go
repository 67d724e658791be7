// Package spec describes a service: servers of any program, such as the nodes of a store that has locks. The
// description is data in a scenario; it names the program, its ports and files, how to see that a node serves,
// and how clients learn the addresses. Package service runs what it describes.
//
// Texts that differ from node to node are templates (text/template). A template sees the node that it is for:
//
//	{{.Name}} {{.Number}} {{.Dir}}   m1; 1; the node's folder, which a restart keeps
//	{{.Listen "peer"}}               where the node must listen for a port: 127.0.0.1:16001
//	{{.Link "peer"}}                 the address through which all others reach it: every node is told the same,
//	                                 and the link asks the system which node dials
//	{{range .Nodes}} … {{end}}       all nodes, in which {{.To "peer"}} is the address through which this node
//	                                 alone reaches that one (its own port, for itself)
//	{{port …}}                       the port of an address, without the host
package spec
