#!/bin/bash
# Compares the throughput of explore in this version with that of a commit, in alternation, with one
# worker, by processor time:
#	search/versions.sh 33645bf [ROUNDS [SCHEDULES]]
set -e
cd "$(dirname "$0")/.."
commit=$1 rounds=${2:-5} schedules=${3:-2000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/other" "$tmp/store"
git archive "$commit" | tar x -C "$tmp/other"
(cd "$tmp/other" && go build -o "$tmp/$commit" ./cmd/lockpick)
go build -o "$tmp/this" ./cmd/lockpick

TIMEFORMAT='%U %S'
for _ in $(seq "$rounds"); do
	for version in "$commit" this; do
		# of one processor, so that the garbage collector's work is not spread over idle ones
		used=$( { time GOMAXPROCS=1 "$tmp/$version" explore --seed 1 --schedules "$schedules" --workers 1 --store "$tmp/store" --json \
			--faults kill,pause,partition,client-pause,client-kill,slow,reset --persistence always >"$tmp/$version.json" 2>"$tmp/log"; } 2>&1 )
		echo "$version $used"
	done
done | awk -v n="$schedules" '
	{ s = n / ($2 + $3); sum[$1] += s; count[$1]++; if (s > best[$1]) best[$1] = s }
	END { for (v in sum) printf "%-10s %5.0f schedules per second of processor time, the best %5.0f\n", v, sum[v] / count[v], best[v] }'
