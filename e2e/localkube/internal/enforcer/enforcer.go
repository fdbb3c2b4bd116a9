// Package enforcer is the component that makes NetworkPolicies hold: it watches the API server, and keeps the kernel's
// rules as that wants them.
package enforcer

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/firewall"
	"github.com/slurmcluster/slurmcluster/e2e/localkube/internal/policy"
)

// Options say where things are.
type Options struct {
	Kubeconfig string
	// Sandboxes is the directory in which the CNI library notes what addresses each pod got.
	Sandboxes string
	// Listen is the address that answers /healthz: well, when rules are in force.
	Listen string
}

// Run enforces policies until the context ends or something fails. The rules stay in force then: who starts it again
// finds them, and puts the right ones in their place.
func Run(ctx context.Context, o Options) error {
	wall, err := firewall.Open()
	if err != nil {
		return err
	}
	client, err := newClient(o.Kubeconfig)
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var enforced atomic.Bool
	go func() { fail(serveHealth(o.Listen, &enforced)) }()

	changed := newSignal()
	if err := watchSandboxes(ctx, o.Sandboxes, changed); err != nil {
		return err
	}
	objects, err := watchObjects(ctx, client, changed)
	if err != nil {
		return err
	}
	return keeper{
		changed: changed,
		decide: func() (policy.Rules, error) {
			cluster, err := objects.read(o.Sandboxes)
			if err != nil {
				return policy.Rules{}, err
			}
			return policy.Decide(cluster)
		},
		apply: func(ctx context.Context, rules policy.Rules) error {
			if err := wall.Replace(ctx, rules); err != nil {
				return err
			}
			enforced.Store(true)
			return nil
		},
	}.run(ctx)
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

func serveHealth(listen string, enforced *atomic.Bool) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !enforced.Load() {
			http.Error(w, "no rules are in force yet", http.StatusServiceUnavailable)
		}
	})
	server := http.Server{Addr: listen, Handler: mux, ReadHeaderTimeout: time.Second}
	if err := server.ListenAndServe(); err != nil {
		return fmt.Errorf("answering for its health: %w", err)
	}
	return nil
}
