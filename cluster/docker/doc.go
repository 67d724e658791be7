// Package docker runs masters in containers of a Docker engine, builds the image from which
// they are started, and reports what this machine can run.
package docker
