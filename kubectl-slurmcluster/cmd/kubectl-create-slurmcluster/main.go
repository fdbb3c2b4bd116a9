// Command kubectl-create-slurmcluster is "kubectl create slurmcluster".
package main

import (
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/command"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/create"
)

func main() {
	command.Main(create.Program)
}
