package main

import "syscall"

// dieWithParent has the kernel end the process with this one.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
