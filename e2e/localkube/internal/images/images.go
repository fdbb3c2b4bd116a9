// Package images packs static programs into container images that contain
// nothing else.
package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is a static program as a container image.
type Image struct {
	Name string
	User string
}

// nobody is the usual uid of images without users.
const nobody = "65532:65532"

// The images that the cluster itself needs.
var (
	Pause   = Image{Name: "pause", User: nobody}
	CoreDNS = Image{Name: "coredns", User: nobody}
	All     = []Image{Pause, CoreDNS}
)

// Reference is the name under which the image is known in the cluster.
func (i Image) Reference() string { return "localhost/localkube/" + i.Name + ":dev" }

// Write packs the program of that name from bin into an archive.
func (i Image) Write(bin, archives string) error {
	program, err := os.ReadFile(filepath.Join(bin, i.Name))
	if err != nil {
		return fmt.Errorf("reading the program of image %s: %w", i.Name, err)
	}
	image, err := i.assemble(program)
	if err != nil {
		return fmt.Errorf("assembling image %s: %w", i.Name, err)
	}
	tag, err := name.NewTag(i.Reference())
	if err != nil {
		return fmt.Errorf("naming image %s: %w", i.Name, err)
	}
	if err := tarball.WriteToFile(filepath.Join(archives, i.Name+".tar"), tag, image); err != nil {
		return fmt.Errorf("writing image %s: %w", i.Name, err)
	}
	return nil
}

func (i Image) assemble(program []byte) (v1.Image, error) {
	contents, err := archive(i.Name, program)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(contents)), nil
	})
	if err != nil {
		return nil, err
	}
	base, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH,
		Config: v1.Config{Entrypoint: []string{"/" + i.Name}, User: i.User},
	})
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(base, layer)
}

// archive is a layer with one executable file.
func archive(name string, program []byte) ([]byte, error) {
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(program); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}
