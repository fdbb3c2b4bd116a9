//go:build e2e

package suite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// pbsScript is as people bring them from a PBS or Torque cluster.
const pbsScript = `#!/bin/bash
#PBS -N weather
#PBS -l nodes=2:ppn=1,walltime=00:10:00
#PBS -j oe
#PBS -o weather.out
cd $PBS_O_WORKDIR
echo "$PBS_JOBNAME $PBS_JOBID in $PWD, $PBS_ENVIRONMENT, limit $(squeue --noheader --job $PBS_JOBID --format=%l)"
srun hostname | sort
echo file $(sort "$PBS_NODEFILE" | uniq -c)
`

// TestPBS: who comes from PBS takes scripts and commands along, in a login shell and from outside.
func TestPBS(t *testing.T) {
	forImages(t, func(e *harness.Env, use harness.Change) {
		c := e.Start("demo", use, nodes(2))
		login := func(line string) string { return c.Run("bash", "-l", "-c", line) }
		file := filepath.Join(e.TempDir(), "weather.pbs")
		require.NoError(e, os.WriteFile(file, []byte(pbsScript), 0o600))

		login("cat > weather.pbs <<'EOF'\n" + pbsScript + "EOF")
		id := login("qsub weather.pbs")
		require.Regexp(e, `^[0-9]+$`, id)
		c.AwaitJob(id, "COMPLETED")
		said := c.RunOn(node(c, id), "cat", "/home/user/weather.out")
		require.Equal(e, "weather "+id+" in /home/user, PBS_BATCH, limit 10:00\ncpu-0\ncpu-1\nfile 1 cpu-0 1 cpu-1", said)

		id = submitted(c, e.Kubectl("slurmcluster", "sbatch", "demo", file))
		c.AwaitJob(id, "COMPLETED")
		require.Contains(e, e.Kubectl("slurmcluster", "logs", "demo", id), "weather "+id+" in /home/user, , limit 10:00\ncpu-0\ncpu-1\nfile 1 cpu-0 1 cpu-1")

		id = login("echo 'sleep 1000' | qsub -N long -l nodes=1:ppn=1")
		c.AwaitJob(id, "RUNNING")
		require.Regexp(e, `(?m)^`+id+` +long +user +\S+ +R main$`, login("qstat"))
		require.Contains(e, login("qstat -f "+id), "Job Id: "+id+"\n    Job_Name = long\n")
		require.Regexp(e, `(?m)^`+node(c, id)+`\n +state = job-exclusive$`, login("pbsnodes"))
		login("qdel " + id)
		c.AwaitJob(id, "CANCELLED")
		_, err := c.Try("qstat", "999")
		require.ErrorContains(e, err, "qstat: Unknown Job Id 999")

		id = login(`echo 'echo "$A $B ${PATH:+path}"' | qsub -W block=true -v A=1,B=2`)
		require.Equal(e, "1 2 path", c.RunOn(node(c, id), "cat", "/home/user/STDIN.o"+id))
		held := login("echo true | qsub -h")
		c.AwaitJob(held, "PENDING")
		login("qrls " + held)
		c.AwaitJob(held, "COMPLETED")
	})
}
