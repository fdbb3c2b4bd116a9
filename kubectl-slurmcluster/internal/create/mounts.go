package create

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
)

const (
	maxVolumes = 16
	maxPath    = 255
)

var (
	mountPath  = regexp.MustCompile(`^/[^:,\x00-\x1f]+$`)
	systemPath = regexp.MustCompile(`^/(proc|sys|dev|usr|bin|sbin|lib|lib64|run|etc)(/.*)?$|^/var/(lib/slurmctld|spool/slurmd)(/.*)?$`)
)

func (o *Options) checkVolumes() error {
	if len(o.Volumes) > maxVolumes {
		return fmt.Errorf("--volume is given %d times; %d is the most", len(o.Volumes), maxVolumes)
	}
	o.volumes = nil
	for i, text := range o.Volumes {
		volume, err := parseVolume(fmt.Sprintf("volume-%d", i), text)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(o.volumes, func(v v1alpha1.SharedVolume) bool { return v.MountPath == volume.MountPath }) {
			return fmt.Errorf("--volume mounts %s twice; give each volume its own path", volume.MountPath)
		}
		o.volumes = append(o.volumes, volume)
	}
	return nil
}

func parseVolume(name, text string) (v1alpha1.SharedVolume, error) {
	claim, path, _ := strings.Cut(text, ":")
	path, readOnly := strings.CutSuffix(path, ":ro")
	switch {
	case len(validation.IsDNS1123Subdomain(claim)) > 0:
		return v1alpha1.SharedVolume{}, fmt.Errorf(
			"--volume %q: %q is not the name of a claim; write CLAIM:/PATH; see: kubectl get persistentvolumeclaims", text, claim)
	case !mountPath.MatchString(path) || strings.Contains(path, "..") || len([]rune(path)) > maxPath:
		return v1alpha1.SharedVolume{}, fmt.Errorf(
			"--volume %q: %q is not an absolute path without ':', ',' and '..'; write CLAIM:/PATH, such as home:/home/user", text, path)
	case systemPath.MatchString(path):
		return v1alpha1.SharedVolume{}, fmt.Errorf(
			"--volume %q: %s is where the system or Slurm keeps its own files; choose another path, such as /data", text, path)
	}
	return claimVolume(name, claim, path, readOnly), nil
}
