package list

import (
	"context"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"

	"github.com/slurmcluster/slurmcluster/api/v1alpha1"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/lifetime"
)

// times knows when clusters end. The API server's table cannot tell: it has columns for times in the past only.
type times struct {
	ctx   context.Context // kubectl's printers hand none on
	env   *cli.Env
	known map[types.NamespacedName]*metav1.Time
	// watching is true when rows are printed as they change.
	watching bool
	// at is where the column is.
	at int
}

// timesOf reads all clusters. It does so before kubectl's code, whose errors would not say what to do.
func timesOf(ctx context.Context, env *cli.Env, o *get.GetOptions) (*times, error) {
	t := &times{ctx: ctx, env: env, known: map[types.NamespacedName]*metav1.Time{}, watching: o.Watch || o.WatchOnly}
	namespace, err := env.Namespace()
	if err != nil {
		return nil, err
	}
	if o.AllNamespaces {
		namespace = metav1.NamespaceAll
	}
	clusters, err := env.Clusters(namespace)
	if err != nil {
		return nil, err
	}
	list, err := clusters.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, cli.Explain(err)
	}
	for i := range list.Items {
		t.add(&list.Items[i])
	}
	return t, nil
}

func (t *times) add(cluster *v1alpha1.SlurmCluster) {
	t.known[types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}] = cluster.Status.ExpiresAt
}

// left is how long a cluster has; without an end it is "-".
func (t *times) left(namespace, name string) string {
	ends := t.known[types.NamespacedName{Namespace: namespace, Name: name}]
	if ends == nil {
		return "-"
	}
	return lifetime.Left(ends.Time)
}

// refresh keeps what was known of a cluster that cannot be read: it may have just been deleted.
func (t *times) refresh(namespace, name string) {
	clusters, err := t.env.Clusters(namespace)
	if err != nil {
		return
	}
	if cluster, err := clusters.Get(t.ctx, name, metav1.GetOptions{}); err == nil {
		t.add(cluster)
	}
}

type toPrinter = func(*meta.RESTMapping, *bool, bool, bool) (printers.ResourcePrinterFunc, error)

// withLeft adds the column to the tables that are printed.
func withLeft(inner toPrinter, t *times) toPrinter {
	return func(mapping *meta.RESTMapping, outputObjects *bool, withNamespace, withKind bool) (printers.ResourcePrinterFunc, error) {
		printer, err := inner(mapping, outputObjects, withNamespace, withKind)
		if err != nil {
			return nil, err
		}
		return func(object runtime.Object, out io.Writer) error {
			if table, ok := object.(*unstructured.Unstructured); ok && table.GetKind() == "Table" {
				if err := t.addColumn(table); err != nil {
					return err
				}
			}
			return printer.PrintObj(object, out)
		}, nil
	}
}

// addColumn puts the column behind the age, or last.
func (t *times) addColumn(object *unstructured.Unstructured) error {
	var table metav1.Table
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &table); err != nil {
		return err
	}
	// Of the tables of a watch, only the first has a header.
	if columns := table.ColumnDefinitions; len(columns) > 0 {
		t.at = len(columns)
		if age := slices.IndexFunc(columns, func(c metav1.TableColumnDefinition) bool { return c.Name == "Age" }); age >= 0 {
			t.at = age + 1
		}
		table.ColumnDefinitions = slices.Insert(columns, t.at, metav1.TableColumnDefinition{Name: "Left", Type: "string"})
	}
	for i := range table.Rows {
		row := &table.Rows[i]
		converted, err := runtime.Decode(unstructured.UnstructuredJSONScheme, row.Object.Raw)
		if err != nil {
			return err
		}
		about, err := meta.Accessor(converted)
		if err != nil {
			return err
		}
		if t.watching && len(table.Rows) == 1 {
			t.refresh(about.GetNamespace(), about.GetName())
		}
		row.Cells = slices.Insert(row.Cells, min(t.at, len(row.Cells)), any(t.left(about.GetNamespace(), about.GetName())))
	}
	changed, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&table)
	if err != nil {
		return err
	}
	object.Object = changed
	return nil
}
