#!/bin/bash
# Explores a million schedules in 64 jobs of Slurm, then reads what they found:
#
#   sbatch slurm.sh
#   sbatch --dependency=afterany:JOBID --wrap 'lockpick search part-*.json'
#
# Each job learns its shard from the array's variables. A job that is requeued goes on where its
# file ends; a shard counts once.
#SBATCH --job-name=lockpick
#SBATCH --array=0-63
#SBATCH --requeue
#SBATCH --output=lockpick-%a.log

exec "${LOCKPICK:-lockpick}" search --seed "${SEED:-7}" --schedules "${SCHEDULES:-1000000}" \
	--faults kill,partition --persistence always --workers 1 \
	--out "part-$SLURM_ARRAY_TASK_ID.json"
