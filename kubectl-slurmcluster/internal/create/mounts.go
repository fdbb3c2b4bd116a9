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
	if n := len(o.Volumes) + len(o.ImageVolumes); n > maxVolumes {
		return fmt.Errorf("--volume and --image-volume are given %d times; %d is the most", n, maxVolumes)
	}
	o.volumes = nil
	for _, flag := range []struct {
		texts []string
		parse func(name, text string) (v1alpha1.SharedVolume, error)
	}{{o.Volumes, parseVolume}, {o.ImageVolumes, parseImageVolume}} {
		for _, text := range flag.texts {
			volume, err := flag.parse(fmt.Sprintf("volume-%d", len(o.volumes)), text)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(o.volumes, func(v v1alpha1.SharedVolume) bool { return v.MountPath == volume.MountPath }) {
				return fmt.Errorf("--volume mounts %s twice; give each volume its own path", volume.MountPath)
			}
			o.volumes = append(o.volumes, volume)
		}
	}
	return nil
}

func parseVolume(name, text string) (v1alpha1.SharedVolume, error) {
	claim, path, _ := strings.Cut(text, ":")
	path, readOnly := strings.CutSuffix(path, ":ro")
	if len(validation.IsDNS1123Subdomain(claim)) > 0 {
		return v1alpha1.SharedVolume{}, fmt.Errorf(
			"--volume %q: %q is not the name of a claim; write CLAIM:/PATH; see: kubectl get persistentvolumeclaims", text, claim)
	}
	if err := checkMountPath("--volume", text, path, "CLAIM:/PATH, such as home:/home/user"); err != nil {
		return v1alpha1.SharedVolume{}, err
	}
	return claimVolume(name, claim, path, readOnly), nil
}

// parseImageVolume: in an image's name there may be a colon, but no ":/".
func parseImageVolume(name, text string) (v1alpha1.SharedVolume, error) {
	const flag = "--image-volume"
	image, path, found := strings.Cut(text, ":/")
	if !found || image == "" {
		return v1alpha1.SharedVolume{}, fmt.Errorf("%s %q: write IMAGE:/PATH, such as docker.io/library/python:slim:/images/python", flag, text)
	}
	path = "/" + path
	if err := checkImage(flag, image, "docker.io/library/python:slim"); err != nil {
		return v1alpha1.SharedVolume{}, err
	}
	if err := checkMountPath(flag, text, path, "IMAGE:/PATH, such as docker.io/library/python:slim:/images/python"); err != nil {
		return v1alpha1.SharedVolume{}, err
	}
	return v1alpha1.SharedVolume{Name: name, MountPath: path, Image: &v1alpha1.ImageVolume{Reference: image}}, nil
}

func checkMountPath(flag, text, path, form string) error {
	switch {
	case !mountPath.MatchString(path) || strings.Contains(path, "..") || len([]rune(path)) > maxPath:
		return fmt.Errorf("%s %q: %q is not an absolute path without ':', ',' and '..'; write %s", flag, text, path, form)
	case systemPath.MatchString(path):
		return fmt.Errorf("%s %q: %s is where the system or Slurm keeps its own files; choose another path, such as /data", flag, text, path)
	}
	return nil
}
