#!/bin/sh
# Explores a million schedules with GNU parallel, here or on other machines over ssh, then reads
# what they found. For other machines set HOSTS to what parallel's --sshlogin takes, and have
# lockpick in their PATH:
#
#   HOSTS=8/alpha,8/beta ./parallel.sh
set -u
shards=${SHARDS:-64}
export LOCKPICK=${LOCKPICK:-lockpick} SEED=${SEED:-7} SCHEDULES=${SCHEDULES:-1000000} LOCKPICK_SHARDS=$shards

if [ -n "${HOSTS:-}" ]; then
	set -- --sshlogin "$HOSTS" --return 'part-{}.json' --cleanup
fi
seq "$shards" | parallel "$@" --env LOCKPICK --env SEED --env SCHEDULES --env LOCKPICK_SHARDS \
	'"$LOCKPICK" search --seed "$SEED" --schedules "$SCHEDULES" --faults kill,partition --persistence always --workers 1 --shard {}/"$LOCKPICK_SHARDS" --out part-{}.json' ||
	echo "some shards failed: run this again, those that are complete are not repeated" >&2

exec "$LOCKPICK" search part-*.json
