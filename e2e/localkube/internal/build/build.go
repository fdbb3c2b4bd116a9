package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Step reports one piece of work: it calls do, and shows that and how long it runs.
type Step func(name string, do func() error) error

// Build returns the bin directory of the build named key, made if missing. A
// build appears in the cache only when it is complete.
func (p Part) Build(ctx context.Context, source, cache, key string, step Step) (bin string, err error) {
	final := filepath.Join(cache, key)
	bin = filepath.Join(final, "bin")
	unlock, err := lock(cache)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(bin); err == nil {
		return bin, p.setCurrent(cache, key)
	}
	partial := final + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", fmt.Errorf("removing an interrupted build: %w", err)
	}
	if err := p.buildInto(ctx, source, partial, step); err != nil {
		return "", err
	}
	if err := os.Rename(partial, final); err != nil {
		return "", fmt.Errorf("keeping the build: %w", err)
	}
	return bin, p.setCurrent(cache, key)
}

func (p Part) buildInto(ctx context.Context, source, dir string, step Step) error {
	bin, archives := filepath.Join(dir, "bin"), filepath.Join(dir, "images")
	for _, path := range []string{bin, archives} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("making the build directory: %w", err)
		}
	}
	for _, program := range p.programs {
		err := step("build "+program.Name, func() error { return program.compile(ctx, source, bin) })
		if err != nil {
			return err
		}
	}
	for _, image := range p.images {
		err := step("image "+image.Name, func() error { return image.Write(bin, archives) })
		if err != nil {
			return err
		}
	}
	return nil
}

// Prune removes builds that nobody needs any more, so that the cache does not
// grow with every change of a dependency.
func Prune(cache string, keep ...string) error {
	unlock, err := lock(cache)
	if err != nil {
		return err
	}
	defer unlock()
	builds, err := filepath.Glob(filepath.Join(cache, "*", "bin"))
	if err != nil {
		return fmt.Errorf("listing old builds: %w", err)
	}
	for _, bin := range builds {
		dir := filepath.Dir(bin)
		if name := filepath.Base(dir); name == "current" || slices.Contains(keep, name) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing an old build: %w", err)
		}
	}
	return nil
}

// lock keeps two builds from getting into each other's way.
func lock(cache string) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("making the build cache: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the build cache's lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the build cache: %w", err)
	}
	return func() { file.Close() }, nil
}

// setCurrent points the name "current", for people's PATH, at a build of what runs always.
func (p Part) setCurrent(cache, key string) error {
	if p.optional {
		return nil
	}
	link := filepath.Join(cache, "current")
	if target, err := os.Readlink(link); err == nil && target == key {
		return nil
	}
	fresh := link + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("naming the current build: %w", err)
	}
	if err := os.Symlink(key, fresh); err != nil {
		return fmt.Errorf("naming the current build: %w", err)
	}
	if err := os.Rename(fresh, link); err != nil {
		return fmt.Errorf("naming the current build: %w", err)
	}
	return nil
}
