//go:build e2e

package suite

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

// chaosPause is how long a disturbance may have its effect before the next.
const chaosPause = 3 * time.Second

// chaosPatience is how long nothing may go on in the end while jobs are left; several clusters may have long queues by then.
const chaosPatience = 3 * time.Minute

// saveTime is Slurm's own: what is submitted so shortly before a kill of slurmctld is lost with it.
const saveTime = 6 * time.Second

// controller is the pod of the cluster's slurmctld.
const controller = "demo-controller-0"

// work is what each job does: it writes down when it begins and when it has done its work, below a directory that all
// nodes share.
const work = `echo "begin ${SLURM_RESTART_COUNT:-0} $(hostname)" >> /data/$SLURM_JOB_ID
%s
echo "done ${SLURM_RESTART_COUNT:-0} $(hostname)" >> /data/$SLURM_JOB_ID`

// chaos is a cluster that is disturbed while a stream of jobs runs.
type chaos struct {
	*harness.Cluster
	random *rand.Rand
	mu     sync.Mutex // held while submissions must wait
	jobs   []string
	events int
	// forgot is how often slurmctld was ended without a word: it then knows what was five seconds before, so that a job
	// that has begun and ended since may run once more.
	forgot int
}

// TestChaos kills and changes things at random while jobs are submitted, for CHAOS_MINUTES, in the order that CHAOS_SEED
// decides. In the end every job has done its work: once, or more often only where Slurm has requeued it.
func TestChaos(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("CHAOS_MINUTES"), 64)
	if err != nil {
		t.Skip("CHAOS_MINUTES is not set; make chaos does that")
	}
	seed, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano() % 100_000)
	}
	t.Logf("CHAOS_SEED=%d CHAOS_MINUTES=%v", seed, minutes)
	clusters, err := strconv.Atoi(os.Getenv("CHAOS_CLUSTERS"))
	if err != nil {
		clusters = 1
	}
	for i := range uint64(clusters) {
		t.Run(fmt.Sprint("seed ", seed+i), func(t *testing.T) {
			t.Parallel()
			wreak(t, seed+i, minutes, max(time.Second, time.Duration(clusters)*time.Second/2))
		})
	}
}

// wreak disturbs one cluster, to which a job is submitted every so often: several share the machine.
func wreak(t *testing.T, seed uint64, minutes float64, every time.Duration) {
	t.Helper()
	e := harness.NewFor(t, time.Duration(minutes*float64(time.Minute))*2+4*chaosPatience)
	require.NoError(t, e.Kube.Create(e.Ctx, claim(e, "data")))
	c := &chaos{random: rand.New(rand.NewPCG(seed, 0)), Cluster: e.Start("demo", nodes(3), storage("100Mi", false), func(s *v1alpha1.SlurmClusterSpec) {
		burst := harness.NodeSet("burst", 0)
		burst.Replicas, burst.Autoscale = nil, &v1alpha1.Autoscale{Max: 2, IdleTimeout: &metav1.Duration{Duration: 5 * time.Second}, StartTimeout: &metav1.Duration{Duration: 30 * time.Second}}
		s.NodeSets = append(s.NodeSets, burst)
		s.Volumes = []v1alpha1.SharedVolume{{Name: "data", MountPath: "/data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	})}
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	stop := make(chan struct{})
	var submitting sync.WaitGroup
	submitting.Add(1)
	go func() {
		defer submitting.Done()
		c.submit(stop, every, rand.New(rand.NewPCG(seed, 1)))
	}()
	for time.Now().Before(end) {
		c.disturb()
		time.Sleep(chaosPause)
	}
	close(stop)
	submitting.Wait()
	shared.RLock() // other clusters may not be done yet
	defer shared.RUnlock()
	c.Update(nodes(3))
	c.check()
}

// submit submits jobs until stop is closed: short and long ones, arrays, and some of two nodes.
func (c *chaos) submit(stop <-chan struct{}, every time.Duration, r *rand.Rand) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(every):
		}
		seconds := strconv.FormatFloat(0.2+3*r.Float64(), 'f', 1, 64)
		options := []string{"--parsable", "--output=/dev/null", "--requeue"}
		step := "sleep " + seconds
		switch r.IntN(6) {
		case 0:
			options = append(options, "--array=1-3")
		case 1:
			options = append(options, "-N2")
			step = "srun sleep " + seconds
		case 2:
			step = "sleep 15"
		case 3:
			options = append(options, "--constraint=burst")
		}
		c.mu.Lock()
		id, err := c.TryIn("#!/bin/bash\n"+fmt.Sprintf(work, step)+"\n", append([]string{"sbatch"}, options...)...)
		if err == nil {
			c.jobs = append(c.jobs, id)
		}
		c.mu.Unlock()
	}
}

// shared is what all clusters depend on: while it is disturbed for one, nothing else is asked of it.
var shared sync.RWMutex

// disturb does one thing that happens to clusters.
func (c *chaos) disturb() {
	if c.random.IntN(6) == 0 {
		c.disturbShared()
		return
	}
	shared.RLock()
	defer shared.RUnlock()
	pods := &corev1.PodList{}
	require.NoError(c, c.List(c.Ctx, pods, client.InNamespace(c.Namespace), client.MatchingLabels{contract.LabelCluster: c.Called}))
	if len(pods.Items) == 0 {
		return // all are being replaced
	}
	pod := pods.Items[c.random.IntN(len(pods.Items))]
	type event struct {
		what string
		do   func()
	}
	kinds := []event{
		{"kill slurmctld", func() {
			c.suddenly(func() { c.kill(controller, contract.ContainerSlurmctld, "slurmctld") })
		}},
		{"kill slurmrestd", func() { c.kill(controller, contract.ContainerSlurmrestd, "slurmrestd") }},
		{"kill munged of " + pod.Name, func() {
			container := contract.ContainerMunged
			if pod.Name == controller {
				container = contract.ContainerSlurmctld
			}
			c.kill(pod.Name, container, "munged")
		}},
		{"delete pod " + pod.Name, func() { c.remove(&pod, 30) }},
		{"delete pod " + pod.Name + " at once", func() {
			if pod.Name != controller {
				c.remove(&pod, 0)
				return
			}
			c.suddenly(func() { c.remove(&pod, 0) })
		}},
		{"another number of replicas", func() { c.Update(nodes(int32(1 + c.random.IntN(4)))) }},
		{"another template", func() {
			c.Update(set(func(n *v1alpha1.NodeSet) {
				n.Features = []v1alpha1.Feature{v1alpha1.Feature(fmt.Sprintf("v%d", c.random.IntN(100)))}
			}))
		}},
		{"another size", func() {
			c.Update(set(func(n *v1alpha1.NodeSet) {
				n.Resources.Memory = resource.MustParse(fmt.Sprintf("%dMi", 512+64*c.random.IntN(4)))
			}))
		}},
		{"another configuration", func() {
			c.Update(config("MaxArraySize", fmt.Sprint(1000+c.random.IntN(1000))))
		}},
		{"new keys", func() {
			_, err := c.TryKubectl(nil, "annotate", "--overwrite", "slurmcluster", "demo", contract.AnnotationRotateKeys+"="+fmt.Sprint(c.random.IntN(1000)))
			require.NoError(c, err)
		}},
	}
	if pod.Name != controller {
		kinds = append(kinds, event{"kill slurmd of " + pod.Name, func() { c.kill(pod.Name, contract.ContainerSlurmd, "slurmd") }})
	}
	k := kinds[c.random.IntN(len(kinds))]
	c.tell(k.what)
	k.do()
}

func (c *chaos) tell(what string) {
	c.events++
	c.Logf("%3d %s", c.events, what)
}

// disturbShared does something to what is not the cluster's own.
func (c *chaos) disturbShared() {
	shared.Lock()
	defer shared.Unlock()
	switch what := c.random.IntN(4); {
	case what == 0:
		c.tell("upgrade the operator")
		c.Kubectl("rollout", "restart", "deployment/slurmcluster-operator", "--namespace=slurmcluster-system")
		c.Kubectl("rollout", "status", "deployment/slurmcluster-operator", "--namespace=slurmcluster-system", "--timeout=2m")
	case what == 1 && c.IsLocal():
		c.without("kube-apiserver")
	case what == 2 && c.IsLocal():
		c.without("etcd")
	default:
		c.tell("kill the operator")
		c.TryKillIn(c.Operator(), "operator", "operator") // without its lease, it may have ended just now
	}
}

// without lets a part of Kubernetes be away for some seconds.
func (c *chaos) without(component string) {
	away := time.Duration(1+c.random.IntN(8)) * time.Second
	c.tell(fmt.Sprintf("stop %s for %s", component, away))
	_, err := kube.Local(c.Ctx, nil, "localkube", "stop", component)
	require.NoError(c, err)
	time.Sleep(away)
	_, err = kube.Local(c.Ctx, nil, "localkube", "start", component)
	require.NoError(c, err)
	c.Eventually(harness.Patience, "Kubernetes answers again", func() error {
		return c.List(c.Ctx, &corev1.PodList{}, client.InNamespace(c.Namespace))
	})
}

// suddenly ends slurmctld without a word, when nothing was submitted in the time that Slurm may forget.
func (c *chaos) suddenly(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgot++
	time.Sleep(saveTime)
	do()
}

// kill kills a process where there is one: pods come and go.
func (c *chaos) kill(pod, container, program string) {
	o := &corev1.Pod{}
	err := c.Env.Get(c.Ctx, client.ObjectKey{Namespace: c.Namespace, Name: pod}, o)
	require.NoError(c, client.IgnoreNotFound(err))
	c.TryKillIn(o, container, program)
}

func (c *chaos) remove(pod *corev1.Pod, grace int64) {
	require.NoError(c, client.IgnoreNotFound(c.Delete(c.Ctx, pod, client.GracePeriodSeconds(grace))))
}

// check waits until all jobs have ended, and counts.
func (c *chaos) check() {
	before, since := "", time.Now()
	c.Eventually(24*time.Hour, "all jobs have ended", func() error {
		left, err := c.Try("squeue", "--noheader", "--format=%i %T %r %N")
		if err == nil && left == "" {
			return nil
		}
		if left != before {
			before, since = left, time.Now()
		}
		require.Less(c, time.Since(since), chaosPatience, "nothing goes on; left are, with error %v:\n%s", err, left)
		return errors.New(left)
	})
	c.AwaitSettled()
	times, done, again := c.times(), 0, 0
	jobs := c.submitted()
	for _, submitted := range c.jobs {
		require.NotEmpty(c, jobs[submitted], "slurmctld knows nothing of job %s", submitted)
		for _, job := range jobs[submitted] {
			require.Equal(c, "COMPLETED", job.state, "job %s of %s", job.id, submitted)
			n := times[job.id]
			require.True(c, n >= 1 && n <= 1+job.restarts+c.forgot,
				"job %s has done its work %d times, was requeued %d times, and slurmctld ended %d times without a word", job.id, n, job.restarts, c.forgot)
			done++
			again += n - 1
		}
	}
	c.Logf("%d events, %d jobs, all done; work was done again %d times", c.events, done, again)
	require.Positive(c, done)
}

// ended is a job as slurmctld remembers it.
type ended struct {
	id, state string
	restarts  int
}

// submitted are all jobs that slurmctld remembers, by the ids that sbatch gave: an array is several.
func (c *chaos) submitted() map[string][]ended {
	jobs := map[string][]ended{}
	for line := range strings.Lines(c.Run("scontrol", "show", "job", "--oneliner")) {
		fields := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			if key, value, is := strings.Cut(word, "="); is {
				fields[key] = value
			}
		}
		restarts, err := strconv.Atoi(fields["Restarts"])
		require.NoError(c, err, line)
		by := cmp.Or(fields["ArrayJobId"], fields["JobId"])
		jobs[by] = append(jobs[by], ended{fields["JobId"], fields["JobState"], restarts})
	}
	return jobs
}

// times is how often each job has done its work.
func (c *chaos) times() map[string]int {
	times := map[string]int{}
	for line := range strings.Lines(c.Run("sh", "-c", "cd /data && grep -c '^done ' /dev/null *")) {
		job, number, _ := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.Atoi(number)
		require.NoError(c, err, line)
		times[job] = n
	}
	return times
}
