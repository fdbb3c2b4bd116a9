package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
)

// KeyHash names a key without telling anything of it that helps to guess it, as keys are random and long: the first half
// of its SHA-256, in hexadecimal.
func KeyHash(key []byte) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:sha256.Size/2])
}

// ConfigHash returns the hash by which the operator and slurmctld's shim name one configuration: the
// SHA-256, in hexadecimal, of the files' names and contents in order of their names. Every part goes in
// behind its length, so that no content can pass for the start of another file.
func ConfigHash(files map[string]string) string {
	h := sha256.New()
	add := func(s string) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		add(name)
		add(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}
