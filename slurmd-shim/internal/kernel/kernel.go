// Package kernel reads the formats in which Linux writes things down in /proc and /sys. Its errors name the
// file and what was in it.
package kernel

import (
	"fmt"
	"io/fs"
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"
)

// maxCPU is above every CPU number that Linux knows (the largest NR_CPUS is 8192): a damaged file may not ask
// for billions of CPUs.
const maxCPU = 1 << 16

// ReadFile returns the content of a file below root without white space around it. path may begin with a
// slash.
func ReadFile(root fs.FS, path string) (string, error) {
	b, err := fs.ReadFile(root, strings.TrimPrefix(path, "/"))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return strings.Trim(string(b), " \t\r\n\x00"), nil // some captures end in a zero byte
}

// Malformed is the error for a file that does not hold what it should.
func Malformed(path, content, want string) error {
	return fmt.Errorf("%s holds %q, expected %s", path, content, want)
}

// IsDir tells whether there is a directory of that path below root.
func IsDir(root fs.FS, path string) bool {
	info, err := fs.Stat(root, strings.TrimPrefix(path, "/"))
	return err == nil && info.IsDir()
}

// ReadCPUList reads a file that holds a CPU list.
func ReadCPUList(root fs.FS, path string) (cpuset.CPUSet, error) {
	content, err := ReadFile(root, path)
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	set, err := ParseCPUList(content)
	if err != nil {
		return cpuset.CPUSet{}, Malformed(path, content, "a list such as 0-3,8")
	}
	return set, nil
}

// ReadCPUMask reads a file that holds a CPU mask.
func ReadCPUMask(root fs.FS, path string) (cpuset.CPUSet, error) {
	content, err := ReadFile(root, path)
	if err != nil {
		return cpuset.CPUSet{}, err
	}
	set, err := ParseCPUMask(content)
	if err != nil {
		return cpuset.CPUSet{}, Malformed(path, content, "a mask such as ff,00000000")
	}
	return set, nil
}

// ParseCPUList reads the kernel's list format ("0-3,8"); the empty list is the empty set.
func ParseCPUList(s string) (cpuset.CPUSet, error) {
	for _, number := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '-' }) {
		if n, err := strconv.Atoi(number); err != nil || n > maxCPU {
			return cpuset.CPUSet{}, fmt.Errorf("CPU list %q: %q is not a CPU number", s, number)
		}
	}
	return cpuset.Parse(s)
}

// ParseCPUMask reads the kernel's mask format: hexadecimal words of 32 bits with commas between, the highest
// first. cpuset has no parser for it.
func ParseCPUMask(s string) (cpuset.CPUSet, error) {
	words := strings.Split(s, ",")
	if len(words) > maxCPU/32 {
		return cpuset.CPUSet{}, fmt.Errorf("CPU mask of %d words", len(words))
	}
	var cpus []int
	for i, word := range words {
		value, err := strconv.ParseUint(word, 16, 32)
		if err != nil {
			return cpuset.CPUSet{}, fmt.Errorf("CPU mask %q: %w", s, err)
		}
		base := 32 * (len(words) - 1 - i)
		for ; value != 0; value &= value - 1 {
			cpus = append(cpus, base+bits.TrailingZeros64(value))
		}
	}
	return cpuset.New(cpus...), nil
}
