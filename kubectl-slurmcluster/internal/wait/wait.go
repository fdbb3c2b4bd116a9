// Package wait follows a SlurmCluster until it is ready, suspended or gone.
package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// hopeless are the reasons of Degraded that need a person: waiting for them to pass is in vain.
var hopeless = []string{
	v1alpha1.ReasonInvalidConfig,
	v1alpha1.ReasonImageUnavailable,
	v1alpha1.ReasonPodsRefused,
	v1alpha1.ReasonVolumeUnavailable,
	v1alpha1.ReasonNameConflict,
}

// goal is what is waited for.
type goal struct {
	// word is the goal in a sentence, such as ready.
	word string
	// reached says whether the cluster is there, and hopeless why it never will be.
	reached  func(*v1alpha1.SlurmCluster) bool
	hopeless func(*v1alpha1.SlurmCluster) string
	// state says what is missing.
	state func(*v1alpha1.SlurmCluster) string
}

// Ready follows the cluster until it is ready and tells report what it waits for. It ends early when the
// cluster cannot become ready unless somebody changes something.
func Ready(ctx context.Context, clusters cli.Clusters, name string, timeout time.Duration,
	report func(string)) (*v1alpha1.SlurmCluster, error) {
	return until(ctx, clusters, name, timeout, report, goal{"ready", IsReady, whyNever, State})
}

// Settled is Ready for a cluster that has been changed: it also waits for nodes that leave.
func Settled(ctx context.Context, clusters cli.Clusters, name string, timeout time.Duration,
	report func(string)) (*v1alpha1.SlurmCluster, error) {
	settled := func(cluster *v1alpha1.SlurmCluster) bool { return IsReady(cluster) && !progressing(cluster) }
	return until(ctx, clusters, name, timeout, report, goal{"ready", settled, whyNever, work})
}

// Suspended follows the cluster until it is suspended and has no nodes.
func Suspended(ctx context.Context, clusters cli.Clusters, name string, timeout time.Duration,
	report func(string)) (*v1alpha1.SlurmCluster, error) {
	whyNever := func(cluster *v1alpha1.SlurmCluster) string {
		if !cluster.Spec.Suspend {
			return "somebody has resumed it"
		}
		return ""
	}
	return until(ctx, clusters, name, timeout, report, goal{"suspended", IsSuspended, whyNever, work})
}

// Observed follows the cluster until the operator has seen this generation of it.
func Observed(ctx context.Context, clusters cli.Clusters, name string, generation int64, timeout time.Duration) error {
	observed := func(cluster *v1alpha1.SlurmCluster) bool { return cluster.Status.ObservedGeneration >= generation }
	never := func(*v1alpha1.SlurmCluster) string { return "" }
	_, err := until(ctx, clusters, name, timeout, func(string) {}, goal{"seen by the operator", observed, never, State})
	return err
}

func until(ctx context.Context, clusters cli.Clusters, name string, timeout time.Duration,
	report func(string), goal goal) (*v1alpha1.SlurmCluster, error) {
	var last string
	var there *v1alpha1.SlurmCluster
	err := follow(ctx, clusters, name, timeout, func(cluster *v1alpha1.SlurmCluster) (bool, error) {
		if cluster == nil {
			return false, fmt.Errorf("SlurmCluster %q was deleted while waiting for it", name)
		}
		if goal.reached(cluster) {
			there = cluster
			return true, nil
		}
		if why := goal.hopeless(cluster); why != "" {
			return false, fmt.Errorf("SlurmCluster %q cannot become %s: %s", name, goal.word, why)
		}
		last = goal.state(cluster)
		report(last)
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("SlurmCluster %q is not %s after %s: %s", name, goal.word, timeout, last)
	}
	return there, err
}

// whyNever says why a cluster cannot become ready unless somebody changes something, or nothing.
func whyNever(cluster *v1alpha1.SlurmCluster) string {
	if cluster.Spec.Suspend {
		return "it is suspended"
	}
	why := current(cluster, v1alpha1.ConditionDegraded)
	if why != nil && why.Status == metav1.ConditionTrue && slices.Contains(hopeless, why.Reason) {
		return describe(why)
	}
	return ""
}

// Gone follows the cluster until it, or the object that had this UID, does not exist any more.
func Gone(ctx context.Context, clusters cli.Clusters, name, uid string, timeout time.Duration) error {
	err := follow(ctx, clusters, name, timeout, func(cluster *v1alpha1.SlurmCluster) (bool, error) {
		return cluster == nil || string(cluster.UID) != uid, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("SlurmCluster %q still exists after %s; its finalizers or pods hold it", name, timeout)
	}
	return err
}

// follow calls check with every state of the object, nil when it does not exist, until check is content.
func follow(ctx context.Context, clusters cli.Clusters, name string, timeout time.Duration,
	check func(*v1alpha1.SlurmCluster) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	for {
		err := once(ctx, clusters, name, options, check)
		switch {
		case errors.Is(err, watchtools.ErrWatchClosed): // servers end watches after some minutes
			if ctx.Err() != nil {
				return ctx.Err()
			}
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		default:
			return cli.Explain(err)
		}
	}
}

func once(ctx context.Context, clusters cli.Clusters, name string, options metav1.ListOptions,
	check func(*v1alpha1.SlurmCluster) (bool, error)) error {
	list, err := clusters.List(ctx, options)
	if err != nil {
		return err
	}
	if done, err := check(find(list, name)); done || err != nil {
		return err
	}
	options.ResourceVersion = list.ResourceVersion
	watcher, err := clusters.Watch(ctx, options)
	if err != nil {
		return err
	}
	_, err = watchtools.UntilWithoutRetry(ctx, watcher, func(event watch.Event) (bool, error) {
		cluster, ok := event.Object.(*v1alpha1.SlurmCluster)
		switch {
		case event.Type == watch.Error:
			return false, watchtools.ErrWatchClosed // the version is too old: list again
		case !ok || cluster.Name != name:
			return false, nil
		case event.Type == watch.Deleted:
			return check(nil)
		default:
			return check(cluster)
		}
	})
	return err
}

func find(list *v1alpha1.SlurmClusterList, name string) *v1alpha1.SlurmCluster {
	for i := range list.Items {
		if list.Items[i].Name == name {
			return &list.Items[i]
		}
	}
	return nil
}

// IsReady says whether the cluster is ready in its newest version.
func IsReady(cluster *v1alpha1.SlurmCluster) bool {
	ready := current(cluster, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue
}

// IsSuspended says whether the cluster is suspended in its newest version, and nothing of its nodes is left.
func IsSuspended(cluster *v1alpha1.SlurmCluster) bool {
	ready, work := current(cluster, v1alpha1.ConditionReady), current(cluster, v1alpha1.ConditionProgressing)
	return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == v1alpha1.ReasonSuspended &&
		(work == nil || work.Status != metav1.ConditionTrue || work.Reason == v1alpha1.ReasonSuspended)
}

// progressing says whether the operator has something left to do, as far as it has said.
func progressing(cluster *v1alpha1.SlurmCluster) bool {
	progressing := current(cluster, v1alpha1.ConditionProgressing)
	return progressing != nil && progressing.Status == metav1.ConditionTrue
}

// work says in a line what the operator is doing.
func work(cluster *v1alpha1.SlurmCluster) string {
	if progressing := current(cluster, v1alpha1.ConditionProgressing); progressing != nil && progressing.Status == metav1.ConditionTrue {
		return describe(progressing)
	}
	return State(cluster)
}

// State says in a line why the cluster is not ready.
func State(cluster *v1alpha1.SlurmCluster) string {
	if degraded := current(cluster, v1alpha1.ConditionDegraded); degraded != nil && degraded.Status == metav1.ConditionTrue {
		return describe(degraded)
	}
	if ready := current(cluster, v1alpha1.ConditionReady); ready != nil {
		return describe(ready)
	}
	return "the operator has not reported on it yet"
}

// current is the condition of this type if it is about the newest version of the object.
func current(cluster *v1alpha1.SlurmCluster, conditionType string) *metav1.Condition {
	condition := meta.FindStatusCondition(cluster.Status.Conditions, conditionType)
	if condition == nil {
		return nil
	}
	observed := condition.ObservedGeneration
	if observed == 0 { // a condition need not have one
		observed = cluster.Status.ObservedGeneration
	}
	if observed != cluster.Generation {
		return nil
	}
	return condition
}

func describe(condition *metav1.Condition) string {
	if condition.Message == "" {
		return condition.Reason
	}
	return condition.Reason + ": " + condition.Message
}
