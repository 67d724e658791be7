package main

//go:generate sh -c "go run . list claims --as markdown > ../../docs/claims.md"
//go:generate sh -c "go run . list findings --as markdown > ../../docs/findings.md"
