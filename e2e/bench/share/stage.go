package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/e2e/bench/program"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

const (
	// limit bounds each wait.
	limit     = 2 * time.Minute
	lookEvery = 100 * time.Millisecond
	// jobSeconds is the CPU time of a job.
	jobSeconds = 3
	// podCPU is what a pod of the service and a Slurm node set aside: a quarter of a machine of two CPUs. The service's use all of
	// it, and no more.
	podCPU = "450m"
	// spareNodes fill the machine with the least that the service ever has.
	spareNodes = 3
)

// replicas are the service's, over its day.
var replicas = []int32{1, 2, 3, 2, 1, 1}

// stage is where it is measured: a namespace with the service, and later a cluster.
type stage struct {
	*kube.Kube
	options
	namespace string
	undo      program.Undo
}

func newStage(ctx context.Context, o options) (*stage, error) {
	s := &stage{options: o}
	var err error
	if s.Kube, err = kube.Connect(); err != nil {
		return s, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "share-"}}
	if err := s.create(ctx, namespace); err != nil {
		return s, err
	}
	s.namespace = namespace.Name
	labels := map[string]string{"app": "service"}
	return s, s.create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "service"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: ptr.To[int64](1),
				Containers: []corev1.Container{{
					Name: "service", Image: o.image, Command: []string{"sh", "-c", "while :; do :; done"},
					Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(podCPU), corev1.ResourceMemory: resource.MustParse("32Mi")}},
				}},
			}},
		},
	})
}

// create makes an object that goes in the end.
func (s *stage) create(ctx context.Context, o client.Object) error {
	if err := s.Create(ctx, o); err != nil {
		return fmt.Errorf("making %T %s: %w", o, o.GetName(), err)
	}
	s.undo.Later(func(ctx context.Context) error { return client.IgnoreNotFound(s.Delete(ctx, o)) })
	return nil
}

func (s *stage) await(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, lookEvery, limit, true, done); err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}

// fill makes a cluster of a low priority, with more jobs than it can do.
func (s *stage) fill(ctx context.Context) error {
	low := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Value: -10}
	c := &v1alpha1.SlurmCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "spare"}, Spec: v1alpha1.SlurmClusterSpec{
		Image: s.image,
		NodeSets: []v1alpha1.NodeSet{{
			Name: "cpu", Replicas: ptr.To[int32](spareNodes), PriorityClassName: low.Name, TerminationGracePeriodSeconds: ptr.To[int64](10),
			Resources: v1alpha1.NodeResources{CPU: resource.MustParse("1"), Memory: resource.MustParse("256Mi"),
				Requests: v1alpha1.ResourceRequests{CPU: ptr.To(resource.MustParse(podCPU))}},
		}},
	}}
	for _, o := range []client.Object{low, c} {
		if err := s.create(ctx, o); err != nil {
			return err
		}
	}
	err := s.await(ctx, "the cluster is ready", func(ctx context.Context) (bool, error) {
		err := s.Get(ctx, client.ObjectKeyFromObject(c), c)
		return meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady), err
	})
	if err != nil {
		return err
	}
	job := fmt.Sprintf("#!/bin/bash\nend=%d\nwhile [ $(($(cut -d' ' -f14 /proc/$$/stat) / 100)) -lt $end ]; do for ((i = 0; i < 50000; i++)); do :; done; done\n", jobSeconds)
	_, err = s.inController(ctx, strings.NewReader(job), "sbatch", "--array=1-500", "--requeue", "--output=/dev/null")
	return err
}

func (s *stage) inController(ctx context.Context, in io.Reader, command ...string) (string, error) {
	where := kube.Container{Namespace: s.namespace, Pod: "spare-controller-0", Name: contract.ContainerSlurmctld}
	return s.Exec(ctx, where, in, command...)
}

// jobs counts the jobs that are done, and how often one was run again.
func (s *stage) jobs(ctx context.Context) (done, again int, err error) {
	text, err := s.inController(ctx, nil, "squeue", "--states=all", "--array", "--noheader", "--Format=State:20,RestartCnt:10")
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			return 0, 0, fmt.Errorf("squeue says %q", line)
		}
		if fields[0] == "COMPLETED" {
			done++
		}
		restarts, err := strconv.Atoi(fields[1])
		if err != nil {
			return 0, 0, fmt.Errorf("squeue says %q", line)
		}
		again += restarts
	}
	return done, again, err
}

// day lets the service have its numbers of pods, one after the other.
func (s *stage) day(ctx context.Context) (figures, error) {
	var f figures
	var wanted, got float64
	began, err := cpu()
	if err != nil {
		return f, err
	}
	last := int32(0)
	for _, n := range replicas {
		start := time.Now()
		if err := s.scale(ctx, n); err != nil {
			return f, err
		}
		took := time.Since(start)
		if n > last {
			f.starts = append(f.starts, took)
		}
		last = n
		program.Progress("%d pods of the service, after %.1f s", n, took.Seconds())
		before, err := s.serviceCPU(ctx)
		if err != nil {
			return f, err
		}
		since := time.Now()
		select {
		case <-ctx.Done():
			return f, ctx.Err()
		case <-time.After(s.step):
		}
		after, err := s.serviceCPU(ctx)
		if err != nil {
			return f, err
		}
		got += after - before
		wanted += float64(n) * time.Since(since).Seconds() * ptr.To(resource.MustParse(podCPU)).AsApproximateFloat64()
	}
	ended, err := cpu()
	f.used = 1 - (ended.Idle+ended.Iowait-began.Idle-began.Iowait)/(total(ended)-total(began))
	f.served = got / wanted
	return f, err
}

// scale gives the service a number of pods, and waits until they run and no other does.
func (s *stage) scale(ctx context.Context, n int32) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "service"}}
	if err := s.Patch(ctx, d, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n))); err != nil {
		return fmt.Errorf("scaling the service: %w", err)
	}
	return s.await(ctx, fmt.Sprintf("%d pods of the service run", n), func(ctx context.Context) (bool, error) {
		pods, err := s.servicePods(ctx)
		running := 0
		for i := range pods {
			if pods[i].Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == int(n) && len(pods) == int(n), err
	})
}

func (s *stage) servicePods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := s.List(ctx, list, client.InNamespace(s.namespace), client.MatchingLabels{"app": "service"})
	return list.Items, err
}

// serviceCPU is the CPU time that the service's pods have had, in seconds.
func (s *stage) serviceCPU(ctx context.Context) (float64, error) {
	pods, err := s.servicePods(ctx)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range pods {
		// What a process has had is in ticks, of which Linux counts 100 a second for programs.
		text, err := s.Exec(ctx, kube.Container{Namespace: s.namespace, Pod: pods[i].Name, Name: "service"}, nil, "cut", "-d ", "-f14,15", "/proc/1/stat")
		if err != nil {
			return 0, fmt.Errorf("asking pod %s for its CPU time: %w", pods[i].Name, err)
		}
		for ticks := range strings.FieldsSeq(text) {
			n, err := strconv.ParseFloat(ticks, 64)
			if err != nil {
				return 0, fmt.Errorf("pod %s says of its CPU time %q", pods[i].Name, text)
			}
			sum += n / 100
		}
	}
	return sum, nil
}

// cpu is what the machine's CPUs did since it was started, in seconds.
func cpu() (procfs.CPUStat, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return procfs.CPUStat{}, err
	}
	stat, err := proc.Stat()
	return stat.CPUTotal, err
}

func total(c procfs.CPUStat) float64 {
	return c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal
}
