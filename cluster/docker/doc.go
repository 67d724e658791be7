// Package docker runs masters in containers of a Docker engine, builds the image that they are
// started from, and says what this machine can run.
package docker
