package contract

import "testing"

func TestConfigHash(t *testing.T) {
	base := ConfigHash(map[string]string{"slurm.conf": "a=1\n", "cgroup.conf": "b=2\n"})
	if again := ConfigHash(map[string]string{"cgroup.conf": "b=2\n", "slurm.conf": "a=1\n"}); again != base {
		t.Errorf("hash depends on the order of insertion: %s and %s", base, again)
	}
	if len(base) != 64 {
		t.Errorf("hash %q is not 64 hexadecimal digits", base)
	}
	for name, other := range map[string]map[string]string{
		"no files":           nil,
		"changed content":    {"slurm.conf": "a=1\n", "cgroup.conf": "b=3\n"},
		"changed name":       {"slurm.conf": "a=1\n", "gres.conf": "b=2\n"},
		"missing file":       {"slurm.conf": "a=1\n"},
		"contents swapped":   {"slurm.conf": "b=2\n", "cgroup.conf": "a=1\n"},
		"boundary moved":     {"slurm.confa": "=1\n", "cgroup.conf": "b=2\n"},
		"files run together": {"cgroup.conf": "b=2\nslurm.confa=1\n"},
	} {
		if ConfigHash(other) == base {
			t.Errorf("%s: hash is the same", name)
		}
	}
}
