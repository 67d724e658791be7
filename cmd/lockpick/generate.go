package main

//go:generate sh -c "go run . list claims --as markdown > ../../docs/claims.md"
