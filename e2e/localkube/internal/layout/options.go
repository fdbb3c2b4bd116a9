package layout

import (
	"encoding/json"
	"fmt"
	"os"
)

// Options is all that pid 1 of the cluster needs to know; `up` writes it down
// in the state directory and pid 1 reads it.
type Options struct {
	Paths
	// Key identifies the build that the cluster runs.
	Key string `json:"key"`
	// CPUManagerPolicy is the kubelet's: none or static.
	CPUManagerPolicy string `json:"cpuManagerPolicy"`
	// ReservedCPUs are what the static policy keeps for the system.
	ReservedCPUs string `json:"reservedCPUs,omitempty"`
}

const optionsFile = "options.json"

// Save writes the options into the state directory.
func (o Options) Save() error {
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the options: %w", err)
	}
	if err := os.WriteFile(o.Dir(optionsFile), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("saving the options: %w", err)
	}
	return nil
}

// LoadOptions reads what Save wrote.
func LoadOptions(stateDir string) (Options, error) {
	var o Options
	data, err := os.ReadFile(Paths{State: stateDir}.Dir(optionsFile))
	if err != nil {
		return o, fmt.Errorf("reading the options: %w", err)
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return o, fmt.Errorf("decoding the options: %w", err)
	}
	return o, nil
}
