// Package charts holds the Helm charts, so that the kubectl plugin can install them without files.
package charts

import "embed"

// Operator is the name of the operator's chart, which is its directory too.
const Operator = "slurmcluster-operator"

// OperatorCRD and ClassCRD are the custom resource definitions in Files, of SlurmClusters and of SlurmClusterClasses.
const (
	OperatorCRD = Operator + "/crds/slurmcluster.dev_slurmclusters.yaml"
	ClassCRD    = Operator + "/crds/slurmcluster.dev_slurmclusterclasses.yaml"
)

// Files are the charts. "all:" is for _helpers.tpl, which go:embed would leave out.
//
//go:embed all:slurmcluster-operator
var Files embed.FS
