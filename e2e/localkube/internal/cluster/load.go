package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// containerdNamespace is where the kubelet looks for images.
const containerdNamespace = "k8s.io"

// Load imports an image archive. It reports whether there was anything to do:
// the same archive is not imported twice while its images are still there.
func (c Cluster) Load(ctx context.Context, archive string) (loaded bool, err error) {
	digest, err := digestFile(archive)
	if err != nil {
		return false, err
	}
	present, err := c.Images(ctx)
	if err != nil {
		return false, err
	}
	record := c.Paths.Dir("loaded", digest)
	if data, err := os.ReadFile(record); err == nil && containsAll(present, strings.Fields(string(data))) {
		return false, nil
	}
	names, err := c.importArchive(ctx, archive)
	if err != nil {
		return false, err
	}
	if err := c.remember(record, names); err != nil {
		return false, fmt.Errorf("remembering what was loaded: %w", err)
	}
	return true, nil
}

// remember records which image targets an archive brought. Each line is a name
// with its digest, so that a name that was loaded anew does not count.
func (c Cluster) remember(record string, images []string) error {
	return os.WriteFile(record, []byte(strings.Join(images, "\n")+"\n"), 0o644)
}

// importArchive returns what the archive's images are called afterwards.
func (c Cluster) importArchive(ctx context.Context, archive string) ([]string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("opening the image archive: %w", err)
	}
	defer file.Close()
	command, err := c.Enter(ctx, "ctr", "images", "import", "-")
	if err != nil {
		return nil, err
	}
	command.Stdin = file
	before, err := c.Images(ctx)
	if err != nil {
		return nil, err
	}
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("importing %s: %w:\n%s", archive, err, output)
	}
	after, err := c.Images(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(after, func(image string) bool { return slices.Contains(before, image) }), nil
}

// Images lists every image in containerd as name@digest.
func (c Cluster) Images(ctx context.Context) ([]string, error) {
	command, err := c.Enter(ctx, "ctr", "images", "list")
	if err != nil {
		return nil, err
	}
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("listing images: %w:\n%s", err, output)
	}
	return parseImages(string(output)), nil
}

// parseImages reads the table that ctr prints: REF TYPE DIGEST ...
func parseImages(table string) []string {
	var images []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) >= 3 && strings.HasPrefix(fields[2], "sha256:") {
			images = append(images, fields[0]+"@"+fields[2])
		}
	}
	return images
}

func containsAll(have, want []string) bool {
	for _, one := range want {
		if !slices.Contains(have, one) {
			return false
		}
	}
	return len(want) > 0
}

func digestFile(path string) (string, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", fmt.Errorf("opening the image archive: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("reading the image archive: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
