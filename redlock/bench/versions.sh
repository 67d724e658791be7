#!/bin/sh
# Compares this version of the lock with that of a commit, over several kinds of links:
#	./versions.sh 57b5ef1 -rounds 5 -time 0.3s
set -e
cd "$(dirname "$0")"
commit=$1
shift
tmp=$(mktemp -d)
trap 'git worktree remove --force "$tmp/other"; rm -rf "$tmp"' EXIT
git worktree add --quiet --detach "$tmp/other" "$commit"
sed "s#=> ../..#=> $tmp/other#" go.mod > "$tmp/other.mod"
cp go.sum "$tmp/other.sum"
go build -modfile="$tmp/other.mod" -o "$tmp/bench-other" .
go build -o "$tmp/bench-this" .
"$tmp/bench-this" -against "$tmp/bench-other" "$@"
