package controller

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/operator/internal/desired"
)

// probeAgain is how long after an image did not tell its version it is asked again.
const probeAgain = 30 * time.Second

// probed is an image and the version of its Slurm, also as it was said: a version has no 05.
type probed struct {
	image, said string
	version     *version.Version
}

// chooseImages decides which image slurmctld has now and which the nodes have, while the wanted one is not that which
// slurmctld runs. A slurmd may be older than its slurmctld, but never of a newer release
// (https://slurm.schedmd.com/upgrades.html): so slurmctld goes first to a newer one, and last to an older one. And nothing is
// replaced by an image that has not run here once.
func (s *scope) chooseImages(ctx context.Context) error {
	wanted, running := s.want.Image(), s.cluster.Status.Image
	if running == "" || running == wanted {
		return s.endProbe(ctx)
	}
	s.want.ControllerImage, s.want.NodeImage = running, running
	is, err := version.ParseGeneric(s.cluster.Status.SlurmVersion)
	if err != nil {
		s.workOn("image %s waits until slurmctld tells its own version: %s", wanted, err)
		return nil
	}
	next, err := s.versionOf(ctx, wanted)
	if err != nil || next == nil {
		return err
	}
	said := s.memory.probed.said
	switch order := compareReleases(next, is); {
	case order == 0:
		s.want.ControllerImage, s.want.NodeImage = wanted, wanted
	case order > 0:
		s.want.ControllerImage = wanted
		s.workOn("the nodes get image %s once slurmctld runs it, because its Slurm is newer: %s", wanted, said)
	case s.cluster.Spec.Controller.Storage != nil:
		s.problem(v1alpha1.ReasonApplyFailed, fmt.Sprintf("image %s has Slurm %s, which cannot read the queue that Slurm %s keeps in controller.storage: "+
			"set an image of that release or a newer one, or make a new cluster", wanted, said, s.cluster.Status.SlurmVersion))
	default:
		s.want.NodeImage = wanted
		if s.memory.nodesHave == wanted {
			s.want.ControllerImage = wanted
		} else {
			s.workOn("slurmctld gets image %s once all nodes have it, because its Slurm is older: %s", wanted, said)
		}
	}
	return nil
}

// compareReleases is negative if a is of an older release than b: the first two numbers say the release.
func compareReleases(a, b *version.Version) int {
	if d := int(a.Major()) - int(b.Major()); d != 0 {
		return d
	}
	return int(a.Minor()) - int(b.Minor())
}

// rememberNodesHave remembers whether all nodes have the wanted image, of which slurmctld may wait to be sure. What pods are
// made from is known in full only when all else has been looked at.
func (s *scope) rememberNodesHave(context.Context) error {
	s.memory.nodesHave = ""
	if s.want.NodeImage == "" || s.want.NodeImage == s.cluster.Status.Image {
		return nil
	}
	hashes := map[string]string{}
	for _, set := range s.cluster.Spec.NodeSets {
		hashes[set.Name] = desired.TemplateHash(s.want, set)
	}
	for _, pod := range s.slurmdPods {
		if hashes[pod.plan.Set] != pod.plan.Hash {
			return nil
		}
	}
	s.memory.nodesHave = s.want.NodeImage
	return nil
}

// versionOf is the version of Slurm in an image, nil while it is not known: a pod is asked.
func (s *scope) versionOf(ctx context.Context, image string) (*version.Version, error) {
	if s.memory.probed.image == image {
		return s.memory.probed.version, s.endProbe(ctx)
	}
	s.workOn("finding out which version of Slurm image %s has", image)
	pod := s.versionPod
	switch {
	case pod == nil:
		s.acted = true
		err := s.writer.Create(ctx, s.cluster, desired.VersionPod(s.want), &corev1.Pod{})
		if refuses(err) {
			s.problem(v1alpha1.ReasonPodsRefused, "Kubernetes refuses the pod that is to tell the version of Slurm in image "+image+": "+plain(err))
			return nil, nil
		}
		return nil, err
	case pod.Annotations[contract.AnnotationImage] != image:
		return nil, s.endProbe(ctx)
	case pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed:
		return nil, nil
	}
	words, ended := pod.Status.Message, pod.CreationTimestamp.Time
	if c := containerStatus(pod, contract.ContainerVersion); c != nil && c.State.Terminated != nil {
		words, ended = lastWords(c.State.Terminated), c.State.Terminated.FinishedAt.Time
	}
	_, number, _ := strings.Cut(strings.TrimSpace(words), " ") // slurm 24.11.5
	v, err := version.ParseGeneric(number)
	if err == nil && pod.Status.Phase == corev1.PodSucceeded {
		s.memory.probed = probed{image, number, v}
		return v, s.endProbe(ctx)
	}
	s.problem(v1alpha1.ReasonImageUnavailable, fmt.Sprintf("image %s does not tell its version of Slurm: %s", image, words))
	if s.Clock.Since(ended) > probeAgain {
		return nil, s.endProbe(ctx)
	}
	return nil, nil
}

// endProbe removes the pod that was asked for a version.
func (s *scope) endProbe(ctx context.Context) error {
	if s.versionPod == nil || s.versionPod.DeletionTimestamp != nil {
		return nil
	}
	return s.deletePod(ctx, s.versionPod)
}

// runningImage is the image that slurmctld runs now, as far as that is sure; empty if not.
func (s *scope) runningImage() string {
	if !s.known || s.controllerPod == nil {
		return ""
	}
	return s.controllerPod.Annotations[contract.AnnotationImage]
}
