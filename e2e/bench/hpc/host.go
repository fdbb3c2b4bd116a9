package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/template"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/e2e/suite/kube"
)

//go:embed slurm.conf.tmpl
var confText string

var confTemplate = template.Must(template.New("slurm.conf").Funcs(template.FuncMap{"add": func(a, b int) int { return a + b }}).Parse(confText))

// host is Slurm on this machine, outside of any container: the image's files in a changed root, and nothing else of
// what a container has. Several slurmds share its CPUs among them, as pods would.
type host struct {
	image     string
	slurmds   int
	container string
	root      string
	mounted   []string
	daemons   []*exec.Cmd
}

// threads are those with which slurmctld answers requests: as many as in a pod of this machine.
var threads = min(max(2*runtime.NumCPU(), 4), 16)

func (h *host) nodes() int { return h.slurmds }

// names are those of the slurmds.
func (h *host) names() (list []string) {
	for i := range h.slurmds {
		list = append(list, fmt.Sprintf("host-%d", i))
	}
	return list
}

func (h *host) start(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{{"unpacking the image", h.unpack}, {"mounting", h.mount}, {"writing the configuration", h.configure}, {"starting the daemons", h.launch}} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

func (h *host) unpack(ctx context.Context) error {
	out, err := kube.Local(ctx, nil, "buildah", "from", "--pull-never", h.image)
	if err != nil {
		return fmt.Errorf("%w; run hack/image.sh hpc trixie", err)
	}
	h.container = strings.TrimSpace(out)
	out, err = kube.Local(ctx, nil, "buildah", "mount", h.container)
	h.root = strings.TrimSpace(out)
	return err
}

func (h *host) mount(context.Context) error {
	for _, dir := range []string{"/proc", "/sys", "/dev", "/dev/shm"} {
		to := filepath.Join(h.root, dir)
		if err := unix.Mount(dir, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		h.mounted = append(h.mounted, to)
	}
	return nil
}

func (h *host) configure(context.Context) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	var conf strings.Builder
	if err := confTemplate.Execute(&conf, map[string]any{
		"Host": name, "Nodes": h.names(), "Port": firstPort, "Threads": threads, "Epilog": epilog,
		"CPUs": ranks / h.slurmds, "Memory": ranks / h.slurmds * memoryOfCPU, "MemoryOfCPU": memoryOfCPU,
		"Contract": map[string]string{
			"State": contract.StateDir, "Spool": contract.SpoolDir, "Run": contract.RunDir, "Munge": contract.MungeSocket,
		},
	}); err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		filepath.Join(contract.KeyDir, contract.KeyMunge): key,
		"/etc/slurm/slurm.conf":                           []byte(conf.String()),
		"/etc/slurm/cgroup.conf":                          []byte("CgroupPlugin=disabled\n"),
	} {
		file := filepath.Join(h.root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return err
		}
		if err := os.Chown(file, contract.UserID, contract.GroupID); err != nil {
			return err
		}
	}
	dirs := []string{contract.StateDir + "/state"}
	for _, node := range h.names() {
		dirs = append(dirs, contract.SpoolDir+"/"+node)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(h.root, dir), 0o755); err != nil {
			return err
		}
		if err := os.Chown(filepath.Join(h.root, dir), contract.UserID, contract.GroupID); err != nil {
			return err
		}
	}
	return nil
}

const (
	// firstPort is that of the first slurmd; each other has the next.
	firstPort = 16818
	// startTime is how long Slurm may take to start.
	startTime = 30 * time.Second
	// endTime is how long a daemon may take to end.
	endTime = 10 * time.Second
)

func (h *host) launch(ctx context.Context) error {
	daemons := [][]string{{"slurmd-shim", "munged"}, {"slurmctld", "-D"}}
	for _, node := range h.names() {
		daemons = append(daemons, []string{"slurmd", "-D", "-N", node})
	}
	for _, argv := range daemons {
		daemon := h.command(context.WithoutCancel(ctx), argv...)
		daemon.Stdout, daemon.Stderr = nil, nil
		if err := daemon.Start(); err != nil {
			return fmt.Errorf("%s: %w", argv[0], err)
		}
		h.daemons = append(h.daemons, daemon)
	}
	var err error
	errWait := wait.PollUntilContextTimeout(ctx, time.Second/4, startTime, true, func(ctx context.Context) (bool, error) {
		_, err = h.run(ctx, "srun", fmt.Sprintf("--nodes=%d", h.slurmds), "true")
		return err == nil, nil
	})
	if errWait != nil {
		return errors.Join(errWait, err)
	}
	return nil
}

// command is a command as the user, in the image's files.
func (h *host) command(ctx context.Context, argv ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/usr/bin/env", argv...)
	c.Dir, c.Env = "/", []string{"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/home/" + contract.UserName, "USER=" + contract.UserName}
	c.SysProcAttr = &syscall.SysProcAttr{
		Chroot: h.root, Credential: &syscall.Credential{Uid: contract.UserID, Gid: contract.GroupID}, Pdeathsig: syscall.SIGTERM,
	}
	return c
}

func (h *host) run(ctx context.Context, command ...string) (string, error) {
	var out, said strings.Builder
	c := h.command(ctx, command...)
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s on the host: %w: %s", command[0], err, said.String())
	}
	return out.String(), nil
}

func (h *host) stop(ctx context.Context) error {
	var errs error
	for _, daemon := range h.daemons {
		errs = errors.Join(errs, daemon.Process.Signal(syscall.SIGTERM))
	}
	for _, daemon := range h.daemons {
		// A slurmd that ends while it asks a step that has just ended waits for its answer for ever.
		end := time.AfterFunc(endTime, func() { _ = daemon.Process.Kill() })
		_ = daemon.Wait() // by the signal
		end.Stop()
	}
	for i := len(h.mounted) - 1; i >= 0; i-- {
		errs = errors.Join(errs, unix.Unmount(h.mounted[i], unix.MNT_DETACH))
	}
	if h.container != "" {
		_, err := kube.Local(ctx, nil, "buildah", "rm", h.container)
		errs = errors.Join(errs, err)
	}
	*h = host{image: h.image, slurmds: h.slurmds}
	return errs
}
