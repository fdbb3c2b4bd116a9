package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisionerName is what the StorageClass refers to.
const provisionerName = "localkube/local"

// newStorageCommand provisions persistent volumes as directories of the node.
func newStorageCommand() *cobra.Command {
	var kubeconfig, directory, listen string
	command := &cobra.Command{
		Use:  "storage-provisioner",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return provision(command.Context(), kubeconfig, directory, listen)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	command.Flags().StringVar(&directory, "directory", "", "where the volumes are")
	command.Flags().StringVar(&listen, "listen", "", "address that answers /healthz")
	return command
}

func provision(ctx context.Context, kubeconfig, directory, listen string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	failed := make(chan error, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	go func() { failed <- http.ListenAndServe(listen, mux) }()
	go controller.NewProvisionController(ctx, client, provisionerName, directories{directory},
		controller.LeaderElection(false)).Run(ctx)
	return <-failed
}

// directories provisions volumes below a directory.
type directories struct{ root string }

// Provision makes a directory. Everyone may write to it, as the kubelet gives a
// local volume to a group only for pods that ask for one (fsGroup).
func (d directories) Provision(_ context.Context, o controller.ProvisionOptions) (
	*corev1.PersistentVolume, controller.ProvisioningState, error,
) {
	path := filepath.Join(d.root, o.PVName)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("making the volume's directory: %w", err)
	}
	if err := os.Chmod(path, 0o777); err != nil { // regardless of the umask
		return nil, controller.ProvisioningFinished, fmt.Errorf("opening the volume to all: %w", err)
	}
	return volume(o, path), controller.ProvisioningFinished, nil
}

// Delete removes the directory and all that is in it.
func (d directories) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if err := os.RemoveAll(filepath.Join(d.root, volume.Name)); err != nil {
		return fmt.Errorf("removing the volume's directory: %w", err)
	}
	return nil
}

func volume(o controller.ProvisionOptions, path string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: o.PVC.Spec.AccessModes,
			Capacity: corev1.ResourceList{
				corev1.ResourceStorage: o.PVC.Spec.Resources.Requests[corev1.ResourceStorage],
			},
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: path},
			},
			NodeAffinity: onNode(o.SelectedNodeName),
		},
	}
}

func onNode(name string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
			}},
		}},
	}}
}
