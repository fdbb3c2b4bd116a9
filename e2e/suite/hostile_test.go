//go:build e2e

package suite

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// tenant makes a service account that may edit the test's namespace and no more, and returns its name as a user.
func tenant(e *harness.Env) string {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "tenant"}}
	require.NoError(e, e.Kube.Create(e.Ctx, account))
	require.NoError(e, e.Kube.Create(e.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.Namespace, Name: account.Name}},
	}))
	return "system:serviceaccount:" + e.Namespace + ":" + account.Name
}

// connect tries to reach an address from a cluster's controller pod.
func connect(c *harness.Cluster, host string, port int) error {
	_, err := c.Try("timeout", "2", "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", host, port))
	return err
}

// TestHostileTenant: who may edit one namespace reaches nothing of a cluster in another, although all run as the same uid.
func TestHostileTenant(t *testing.T) {
	t.Parallel()
	victim, hostile := harness.New(t), harness.New(t)
	user := tenant(hostile)
	require.NoError(t, victim.Kube.Create(victim.Ctx, claim(victim, "data")))
	ours := victim.Create("demo", nodes(1), func(s *spec) {
		s.Volumes = []v1alpha1.SharedVolume{{Name: "data", MountPath: "/data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}
	})
	theirs := hostile.Create("demo", nodes(1))
	ours.AwaitReady()
	theirs.AwaitReady()
	job := ours.Submit("echo secret; exec sleep 600")
	ours.AwaitJob(job, "RUNNING")

	t.Run("objects", func(t *testing.T) {
		for _, args := range [][]string{
			{"get", "slurmclusters"}, {"get", "pods"}, {"get", "secret", "demo-keys"}, {"get", "configmap", "demo-config"}, {"get", "events"},
			{"get", "networkpolicies"}, {"exec", "demo-controller-0", "--", "id"}, {"logs", "demo-cpu-0"}, {"port-forward", "demo-controller-0", "6820"},
			{"delete", "slurmcluster", "demo"}, {"delete", "pod", "demo-cpu-0"}, {"delete", "networkpolicy", "demo"},
			{"patch", "slurmcluster", "demo", "--type=merge", "--patch={\"spec\":{\"suspend\":true}}"},
			{"annotate", "slurmcluster", "demo", contract.AnnotationRotateKeys + "=x"},
			{"create", "configmap", "x"}, {"create", "serviceaccount", "x"}, {"label", "pod", "demo-cpu-0", contract.LabelNode + "=x"},
			{"slurmcluster", "squeue", "demo"}, {"slurmcluster", "logs", "demo", job}, {"slurmcluster", "scancel", "demo", job},
		} {
			if args[0] == "slurmcluster" {
				args = append([]string{args[0], args[1], "--as=" + user}, args[2:]...)
			} else {
				args = append([]string{args[0], "--as=" + user}, args[1:]...)
			}
			_, err := victim.TryKubectl(nil, args...)
			require.Error(t, err, "%v", args)
			require.Contains(t, strings.ToLower(err.Error()), "forbidden", "%v", args)
		}
		_, err := victim.TryKubectl(nil, "get", "--as="+user, "slurmclusters", "--all-namespaces")
		require.ErrorContains(t, err, "forbidden")
		_, err = hostile.TryKubectl(nil, "delete", "--as="+user, "slurmclusterclass", "x")
		require.ErrorContains(t, err, "forbidden")
		_, err = hostile.TryKubectl(nil, "get", "--as="+user, "slurmclusterclasses")
		require.NoError(t, err, "what there is to choose from may be seen")
	})

	ports := []int{contract.PortSlurmctld, contract.PortSlurmd, contract.PortSlurmrestd, contract.PortAgent, contract.PortSrunFirst}
	t.Run("network", func(t *testing.T) {
		addresses := []string{ours.Run("hostname", "-i"), ours.RunOn("cpu-0", "hostname", "-i"), ours.Run("bash", "-c", "getent hosts demo-controller."+ours.Namespace+" | cut -d' ' -f1")}
		require.NoError(t, connect(ours, addresses[0], contract.PortSlurmrestd), "its own pods reach it")
		require.NoError(t, connect(ours, addresses[1], contract.PortSlurmd))
		require.NoError(t, connect(ours, addresses[2], contract.PortSlurmctld))
		for _, address := range addresses {
			for _, port := range ports {
				require.Error(t, connect(theirs, address, port), "%s:%d", address, port)
			}
		}
		// A pod of the victim's own namespace that is not the cluster's.
		stranger := victim.Create("stranger", nodes(0))
		stranger.Await("slurmctld answers", func(o *v1alpha1.SlurmCluster) bool { return o.Status.SlurmVersion != "" })
		require.Error(t, connect(stranger, addresses[0], contract.PortSlurmrestd))
	})

	t.Run("volumes", func(t *testing.T) {
		c := hostile.Create("thief", nodes(1), func(s *spec) { s.Volumes = ours.Get().Spec.Volumes })
		c.AwaitDegraded(v1alpha1.ReasonVolumeUnavailable, "data")
		require.NoError(t, hostile.Delete(hostile.Ctx, c.Get()))
	})
	unharmed(ours, job)
}

// TestForeignCredentials: where the network lets everything through, a cluster still takes nobody else's credentials, and
// not its own for longer than they say.
func TestForeignCredentials(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	open := func(s *spec) { s.Network.Isolation = v1alpha1.NetworkIsolatedNone }
	ours, theirs := e.Create("ours", nodes(1), open), e.Create("theirs", nodes(1), open)
	ours.AwaitReady()
	theirs.AwaitReady()
	address := ours.Run("hostname", "-i")
	require.NoError(t, connect(theirs, address, contract.PortSlurmctld), "nothing keeps them from trying")

	// rest asks slurmrestd for the jobs and returns its status line.
	rest := func(from *harness.Cluster, token string) string {
		return from.Run("bash", "-c", fmt.Sprintf(`exec 3<>/dev/tcp/%s/%d
printf 'GET /slurm/v0.0.42/jobs/state/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s: user\r\n%s: %%s\r\n\r\n' "$0" >&3
head -1 <&3`, address, contract.PortSlurmrestd, contract.UserHeader, contract.TokenHeader), token)
	}
	token := func(c *harness.Cluster, lifespan string) string {
		return strings.TrimPrefix(c.Run("scontrol", "token", "lifespan="+lifespan), "SLURM_JWT=")
	}
	require.Contains(t, rest(ours, token(ours, "60")), " 200 ")
	require.NotContains(t, rest(theirs, token(theirs, "60")), " 200 ", "a token made with another key")
	require.NotContains(t, rest(theirs, ""), " 200 ", "no token")
	short := token(ours, "2")
	require.Contains(t, rest(ours, short), " 200 ")
	e.Eventually(harness.Patience, "the token has expired", func() error {
		if answer := rest(ours, short); strings.Contains(answer, " 200 ") {
			return fmt.Errorf("slurmrestd answers %s", answer)
		}
		return nil
	})

	out, err := theirs.Try("bash", "-c", "sed 's/^SlurmctldHost=.*/SlurmctldHost=ours-controller-0("+address+")/; s/^ClusterName=.*/ClusterName=ours/' /etc/slurm/slurm.conf > /tmp/slurm.conf; SLURM_CONF=/tmp/slurm.conf scontrol show nodes 2>&1")
	require.Error(t, err, out)
	require.NotContains(t, out, "NodeName=")
	require.Contains(t, strings.ToLower(out+err.Error()), "authentication")
}

// injection is what a string would have to hold to become a line of slurm.conf of its own.
const injection = "x\nSlurmUser=root"

// TestInjection puts a line break into every string of a spec, one at a time. The API server refuses all but those that never
// reach a file of Slurm's.
func TestInjection(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	harmless := map[string]bool{}
	for _, path := range strings.Fields(`
		.NodeSets[0].Template.Tolerations[0].Key .NodeSets[0].Template.Tolerations[0].Value
		.NodeSets[0].Template.Env[0].Value .NodeSets[0].Template.Annotations[v] .NodeSets[0].Template.Labels[v] .NodeSets[0].Template.NodeSelector[v]
		.NodeSets[0].Template.Annotations[k] .NodeSets[0].Template.Labels[k] .NodeSets[0].Template.NodeSelector[k]
		.Volumes[0].PersistentVolumeClaim.ClaimName .Controller.Storage.StorageClassName .Volumes[0].SubPath`) {
		harmless[path] = true
	}
	full := func() *v1alpha1.SlurmCluster {
		class, scaled := "fast", harness.NodeSet("burst", 1)
		return e.Object("demo", func(s *spec) {
			s.ClassName, s.Image, s.ImagePullPolicy = "", "example.org/x:1", corev1.PullAlways
			set := &s.NodeSets[0]
			set.Features, set.RuntimeClassName, set.PriorityClassName = []v1alpha1.Feature{"avx"}, "r", "p"
			set.Resources.Devices = []v1alpha1.Device{{Resource: "nvidia.com/gpu", Count: 1, Gres: "gpu", Files: []v1alpha1.DeviceFile{"/dev/x*"}}}
			set.Template = v1alpha1.PodTemplate{
				Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}, NodeSelector: map[string]string{"a": "b"},
				Tolerations: []corev1.Toleration{{Key: "a", Value: "b"}}, Env: []v1alpha1.EnvVar{{Name: "A", Value: "b"}},
			}
			s.NodeSets = append(s.NodeSets, scaled)
			s.Partitions = []v1alpha1.Partition{{Name: "main", NodeSets: []v1alpha1.NodeSetName{"cpu"}, MaxTime: "1:00", DefaultTime: "1", State: "UP"}}
			s.Controller.Storage = &v1alpha1.ControllerStorage{StorageClassName: &class}
			s.Volumes = []v1alpha1.SharedVolume{{Name: "v", MountPath: "/data", SubPath: "x", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}
			s.Config = map[string]v1alpha1.ConfigValue{"MaxArraySize": "7"}
		})
	}
	require.NoError(t, e.Kube.Create(e.Ctx, full(), client.DryRunAll), "without an injection it is taken")
	count := 0
	for i := 0; ; i++ {
		o := full()
		at := 0
		path := strike(reflect.ValueOf(&o.Spec).Elem(), "", i, &at)
		if path == "" {
			break
		}
		count++
		err := e.Kube.Create(e.Ctx, o, client.DryRunAll)
		if harmless[path] {
			continue
		}
		require.Error(t, err, "%s takes a line break", path)
	}
	require.Greater(t, count, 30, "strings were found")

	// What the API server takes, and Kubernetes too, must not be found in a file of Slurm's.
	c := e.Start("demo", nodes(1), func(s *spec) {
		s.NodeSets[0].Template.Annotations = map[string]string{"note": injection}
		s.NodeSets[0].Template.Env = []v1alpha1.EnvVar{{Name: "NOTE", Value: injection}}
	})
	require.NotContains(t, c.Run("bash", "-c", "cat /etc/slurm/* /run/slurm/*.conf"), "SlurmUser=root")
	require.NotContains(t, c.RunOn("cpu-0", "bash", "-c", "cat /run/slurm/*.conf /run/slurm/conf/* 2>/dev/null"), "SlurmUser=root")
}

// strike puts the injection into the n-th string below v, and returns where that is; empty if there are fewer.
func strike(v reflect.Value, path string, n int, at *int) string {
	switch v.Kind() { //nolint:exhaustive // the others hold no strings
	case reflect.String:
		if *at++; *at-1 == n {
			v.SetString(injection)
			return path
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return strike(v.Elem(), path, n, at)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "k8s.io/apimachinery/pkg/api/resource" {
			return ""
		}
		for i := range v.NumField() {
			if !v.Field(i).CanSet() || v.Field(i).Kind() == reflect.String && v.Field(i).String() == "" {
				continue
			}
			if found := strike(v.Field(i), path+"."+v.Type().Field(i).Name, n, at); found != "" {
				return found
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if found := strike(v.Index(i), fmt.Sprintf("%s[%d]", path, i), n, at); found != "" {
				return found
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if *at++; *at-1 == n {
				v.SetMapIndex(reflect.ValueOf(injection).Convert(key.Type()), v.MapIndex(key))
				return path + "[k]"
			}
			if *at++; *at-1 == n {
				v.SetMapIndex(key, reflect.ValueOf(injection).Convert(v.Type().Elem()))
				return path + "[v]"
			}
		}
	}
	return ""
}
