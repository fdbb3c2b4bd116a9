package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// The machine of 1024 CPUs that the shim reads.
const (
	bigSockets = 8
	bigCores   = 64
	bigThreads = 2
)

// shim measures what the shim itself costs: reading this machine and a big one, and deriving a node. That is all it
// does until it waits for munged and slurmctld.
func shim(ctx context.Context, out io.Writer, runs int) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "slurmd-shim")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./slurmd-shim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the shim: %w: %s", err, text)
	}
	machine := filepath.Join(dir, "machine")
	if err := bigMachine(machine); err != nil {
		return fmt.Errorf("making a machine of 1024 CPUs: %w", err)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nthe shim reads\tmedian\tat most\tmemory\tat most")
	for _, c := range []struct {
		what, root string
		most       time.Duration
	}{{"this machine", "/", 50 * time.Millisecond}, {"a machine of 1024 CPUs", machine, 200 * time.Millisecond}} {
		took, err := inspect(ctx, program, c.root, runs)
		if err != nil {
			return err
		}
		memory, err := peakMemory(ctx, program, c.root)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%s\t%.0f ms\t%d ms\t%d MB\t20 MB\n", c.what, 1000*median(took), c.most.Milliseconds(), memory>>20)
	}
	return table.Flush()
}

// inspect returns how long each run took, sorted.
func inspect(ctx context.Context, program, root string, runs int) ([]time.Duration, error) {
	var took []time.Duration
	for range runs {
		start := time.Now()
		if text, err := inspection(ctx, program, root).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("slurmd-shim inspect --root %s: %w: %s", root, err, text)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took, nil
}

func inspection(ctx context.Context, program, root string) *exec.Cmd {
	return exec.CommandContext(ctx, program, "inspect", "--root", root, "--output", "json")
}

// peakMemory returns the most memory that a run had, in bytes. The kernel tells it of a process that is there (what
// it tells of one that has ended counts the parent in), so the output goes to a pipe that is full until it was read.
func peakMemory(ctx context.Context, program, root string) (int64, error) {
	drain, full, err := os.Pipe()
	if err != nil {
		return 0, fmt.Errorf("making a pipe: %w", err)
	}
	defer drain.Close()
	if err := full.SetWriteDeadline(time.Now().Add(pollEvery)); err != nil {
		return 0, fmt.Errorf("filling a pipe: %w", err)
	}
	for err == nil {
		_, err = full.Write(make([]byte, 4096))
	}
	command := inspection(ctx, program, root)
	command.Stdout = full
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("starting the shim: %w", err)
	}
	select { // it has long been done, but for writing
	case <-time.After(5 * pollEvery):
	case <-ctx.Done():
	}
	status, errRead := os.ReadFile(fmt.Sprintf("/proc/%d/status", command.Process.Pid))
	err = errors.Join(errRead, full.Close())
	_, errDrain := io.Copy(io.Discard, drain)
	if err := errors.Join(err, errDrain, command.Wait()); err != nil {
		return 0, fmt.Errorf("measuring the shim's memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if peak, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(peak), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the kernel does not tell the shim's peak memory (VmHWM)")
}

// bigMachine writes the files of a machine as the kernel does.
func bigMachine(dir string) error {
	const cpus = bigSockets * bigCores * bigThreads
	files := map[string]string{
		"proc/meminfo":                   "MemTotal: 4294967296 kB\n",
		"sys/devices/system/cpu/online":  fmt.Sprintf("0-%d\n", cpus-1),
		"sys/devices/system/node/online": fmt.Sprintf("0-%d\n", bigSockets-1),
	}
	for cpu := range cpus {
		core := cpu % (cpus / bigThreads)
		topology := fmt.Sprintf("sys/devices/system/cpu/cpu%d/topology/", cpu)
		files[topology+"core_cpus"] = mask(cpus, func(other int) bool { return other%(cpus/bigThreads) == core })
		files[topology+"package_cpus"] = mask(cpus, func(other int) bool { return other%(cpus/bigThreads)/bigCores == core/bigCores })
	}
	for node := range bigSockets {
		files[fmt.Sprintf("sys/devices/system/node/node%d/cpumap", node)] = mask(cpus, func(cpu int) bool { return cpu%(cpus/bigThreads)/bigCores == node })
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// mask is a set of CPUs as the kernel writes it.
func mask(cpus int, holds func(cpu int) bool) string {
	var words []string
	for first := cpus - 32; first >= 0; first -= 32 {
		var word uint32
		for bit := range 32 {
			if holds(first + bit) {
				word |= 1 << bit
			}
		}
		words = append(words, fmt.Sprintf("%08x", word))
	}
	return strings.Join(words, ",") + "\n"
}
