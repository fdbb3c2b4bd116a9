package launch

import (
	"fmt"
	"net"
	"strings"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/exit"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/nodeconf"
	"github.com/slurmcluster/slurmcluster/slurmd-shim/internal/pattern"
)

// Slurmd is what slurmd's command line is made of.
type Slurmd struct {
	// Controller is host:port of slurmctld.
	Controller string
	// Host is the node's name.
	Host string
	// Features is a comma-separated list, possibly empty.
	Features string
	Node     nodeconf.Node
	// Cloud tells that Slurm knows the node already, and waits for it to boot.
	Cloud bool
	// Extra arguments go to slurmd as they are.
	Extra []string
}

// features keeps a list from ending the Feature key and starting another one: --conf is one line of
// key=value pairs separated by spaces, and slurmctld parses it.
var features = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*(,[A-Za-z0-9_][A-Za-z0-9_.:-]*)*$`)

// Args returns slurmd's argv, or an error that says which input is wrong.
func (s Slurmd) Args() ([]string, error) {
	if err := checkAddress(s.Controller); err != nil {
		return nil, err
	}
	conf, err := s.Conf()
	if err != nil {
		return nil, err
	}
	// -N says the name outright: slurmd cannot fill in %n in SlurmdSpoolDir without it.
	argv := []string{contract.SlurmdLink, "-D", "-Z", "-N", s.Host, "--conf-server", s.Controller, confFlag, conf}
	if s.Cloud {
		// The time since boot is the machine's in a container, and Slurm waits for one after it asked.
		argv = append(argv, "-b")
	}
	return append(argv, s.Extra...), nil
}

const confFlag = "--conf"

// Conf returns the line with which the node registers.
func (s Slurmd) Conf() (string, error) {
	conf := []string{s.Node.Conf()}
	if s.Features != "" {
		if !features().MatchString(s.Features) {
			return "", exit.Configf("%s is %q, expected names of letters, digits and _ . : - with commas between", contract.EnvNodeFeatures, s.Features)
		}
		conf = append(conf, "Feature="+s.Features)
	}
	// Quotes let a value hold spaces; slurmd and slurmctld take it up to the next quote.
	conf = append(conf, "State=DRAIN", fmt.Sprintf("Reason=%q", contract.ReasonRegistering))
	return strings.Join(conf, " "), nil
}

func checkAddress(address string) error {
	if address == "" {
		return exit.Configf("%s is not set: give it host:port of slurmctld", contract.EnvController)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return exit.Configf("%s is %q, expected host:port of slurmctld: %w", contract.EnvController, address, err)
	}
	return nil
}
