package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/cpuset"
)

// FuzzParseCPUList: what is accepted can be printed and read again.
func FuzzParseCPUList(f *testing.F) {
	for _, seed := range []string{"", "0", "0-3,8", "7-3", "-1", "1-", "99999999999999999999", "0-4294967295"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := ParseCPUList(s)
		if err != nil {
			return
		}
		again, err := ParseCPUList(set.String())
		require.NoError(t, err)
		require.True(t, again.Equals(set))
	})
}

// FuzzParseCPUMask: whatever a file holds is either refused or a set of sensible size.
func FuzzParseCPUMask(f *testing.F) {
	for _, seed := range []string{"0", "ff", "1,00000000", "ffffffff,ffffffff", ",", "g", "100000000", "-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := ParseCPUMask(s)
		if err == nil {
			require.LessOrEqual(t, set.Size(), maxCPU)
		}
	})
}

func TestParseCPUMask(t *testing.T) {
	for text, want := range map[string]string{
		"0": "", "f": "0-3", "1,00000000": "32", "00000000,0000ff00": "8-15", "ffff0000,0000ffff": "0-15,48-63",
	} {
		got, err := ParseCPUMask(text)
		require.NoError(t, err)
		wanted, err := cpuset.Parse(want)
		require.NoError(t, err)
		require.True(t, got.Equals(wanted), "%s is %s", text, got)
	}
	for _, text := range []string{"", "0x1", "1 0", "123456789"} {
		_, err := ParseCPUMask(text)
		require.Error(t, err, text)
	}
}
