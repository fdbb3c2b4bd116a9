// Command kubectl-slurmcluster is "kubectl slurmcluster".
package main

import (
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/command"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/plugin"
)

func main() {
	command.Main(plugin.Command)
}
