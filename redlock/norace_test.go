//go:build !race

package redlock_test

const raced = false
