package main

//go:generate sh -c "go run . list claims --markdown > ../../docs/claims.md"
