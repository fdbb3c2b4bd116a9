//go:build e2e

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// many is how many clusters are created at once.
const many = 10

// TestMany creates clusters at once in one namespace: each has its own nodes and keys, and none can be
// reached with another's. It runs alone, because it needs what the machine has.
func TestMany(t *testing.T) {
	e := harness.New(t)
	start := time.Now()
	clusters := make([]*harness.Cluster, many)
	for i := range clusters {
		clusters[i] = e.Create(fmt.Sprintf("many-%d", i), nodes(1))
	}
	for _, c := range clusters {
		c.AwaitReady()
	}
	t.Logf("%d clusters were ready after %s", many, time.Since(start).Round(time.Millisecond))
	keys := map[string]string{}
	for _, c := range clusters {
		require.Equal(t, []string{"cpu-0 " + podIP(c, "cpu-0")}, c.Sinfo("%N %o"), "%s sees only its own node", c.Called)
		require.Equal(t, "ok", c.Run("srun", "echo", "ok"))
		for _, key := range keysOf(c) {
			require.Empty(t, keys[key], "%s has a key of another cluster", c.Called)
			keys[key] = c.Called
		}
	}
	require.Len(t, keys, 2*many)
	stranger(t, clusters[0], clusters[1])
}

func podIP(c *harness.Cluster, node string) string {
	c.Helper()
	pod := &corev1.Pod{}
	require.NoError(c, c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Node(node).Pod}, pod))
	return pod.Status.PodIP
}

func keysOf(c *harness.Cluster) []string {
	c.Helper()
	o := &corev1.Secret{}
	require.NoError(c, c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Called + "-keys"}, o))
	return []string{string(o.Data[contract.KeyMunge]), string(o.Data[contract.KeyJWT])}
}

// redirect makes a configuration that names another slurmctld, and runs its other arguments with it.
const redirect = `sed "s/^SlurmctldHost=.*/SlurmctldHost=$0/" /etc/slurm/slurm.conf >/tmp/other.conf
export SLURM_CONF=/tmp/other.conf
exec timeout 20 "$@"`

// stranger tries one cluster's keys at another's door.
func stranger(t *testing.T, from, to *harness.Cluster) {
	t.Helper()
	host := func(c *harness.Cluster) string {
		return fmt.Sprintf("%s(%s)", c.Controller().Pod, strings.TrimSuffix(c.Get().Status.Endpoints.Slurmctld, ":6817"))
	}
	for _, command := range [][]string{{"squeue"}, {"scontrol", "show", "nodes"}, {"sh", "-c", "echo '#!/bin/sh' | sbatch"}} {
		_, err := from.Try(append([]string{"sh", "-c", redirect, host(from)}, command...)...)
		require.NoError(t, err, "the way through the own Service works")
		out, err := from.Try(append([]string{"sh", "-c", redirect, host(to)}, command...)...)
		require.Error(t, err, "%s got an answer from %s: %s", from.Called, to.Called, out)
	}
	_, err := from.Try("sh", "-c", redirect, host(to), "srun", "hostname")
	require.Error(t, err)
	token := strings.TrimPrefix(from.Run("scontrol", "token", "username=user"), "SLURM_JWT=")
	_, err = from.Try("sh", "-c", redirect, host(from), "env", "SLURM_JWT="+token, "squeue")
	require.NoError(t, err, "the own token works")
	out, err := from.Try("sh", "-c", redirect, host(to), "env", "SLURM_JWT="+token, "squeue")
	require.Error(t, err, "a token of %s got an answer from %s: %s", from.Called, to.Called, out)
	require.Empty(t, to.Run("squeue", "--noheader"))
}
