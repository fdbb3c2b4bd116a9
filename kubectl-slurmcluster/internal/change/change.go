// Package change changes single fields of a SlurmCluster and leaves alone what others write meanwhile.
package change

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// Field is a field of the object and the value that it gets.
type Field struct {
	// Path is a JSON pointer whose parent exists, such as /spec/suspend.
	Path  string
	Value any
}

// Plan says which fields of a cluster to change.
type Plan func(*v1alpha1.SlurmCluster) ([]Field, error)

// Run changes the fields that plan asks for and prints the cluster as it then is. The clusters it returns are those of its
// namespace. Nothing is changed when it cannot be printed as asked for.
func Run(ctx context.Context, env *cli.Env, result *cli.Result, name string, plan Plan) (cli.Clusters, *v1alpha1.SlurmCluster, error) {
	if _, err := result.ToPrinter(); err != nil {
		return nil, nil, err
	}
	namespace, err := env.Namespace()
	if err != nil {
		return nil, nil, err
	}
	clusters, err := env.Clusters(namespace)
	if err != nil {
		return nil, nil, err
	}
	changed, err := apply(ctx, clusters, namespace, name, plan)
	if err != nil {
		return nil, nil, err
	}
	return clusters, changed, result.Print(changed)
}

// apply reads the cluster, asks plan for the fields to change, and changes them if nobody has changed the object
// meanwhile; otherwise it begins again. Without fields nothing is sent. It is a patch, because an update would take
// away fields that this version of the plugin does not know.
func apply(ctx context.Context, clusters cli.Clusters, namespace, name string, plan Plan) (*v1alpha1.SlurmCluster, error) {
	var changed *v1alpha1.SlurmCluster
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		cluster, err := cli.GetCluster(ctx, clusters, namespace, name)
		if err != nil {
			return err
		}
		if cluster.DeletionTimestamp != nil {
			return fmt.Errorf("SlurmCluster %q is being deleted", name)
		}
		fields, err := plan(cluster)
		if err != nil || len(fields) == 0 {
			changed = cluster
			return err
		}
		patch, err := patchOf(cluster.ResourceVersion, fields)
		if err != nil {
			return err
		}
		changed, err = clusters.Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: cli.FieldManager})
		return err
	})
	return changed, err
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patchOf makes a patch that the API server refuses, as a conflict, for any other version of the object.
func patchOf(version string, fields []Field) ([]byte, error) {
	operations := []operation{{Op: "add", Path: "/metadata/resourceVersion", Value: version}}
	for _, field := range fields {
		operations = append(operations, operation{Op: "add", Path: field.Path, Value: field.Value}) // an existing value is replaced
	}
	return json.Marshal(operations)
}
