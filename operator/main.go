// Command operator keeps SlurmClusters running.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap/zapcore"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/slurmcluster/slurmcluster/api/contract"
	"github.com/slurmcluster/slurmcluster/operator/internal/controller"
	"github.com/slurmcluster/slurmcluster/operator/internal/slurm"
)

type options struct {
	slurmImage, ownNamespace, namespaces, metrics, probes, pprof string
	leaderElect, classes, imageVolumes                           bool
	pollInterval                                                 time.Duration
	logs                                                         zap.Options
}

func main() {
	o := options{logs: zap.Options{TimeEncoder: zapcore.RFC3339NanoTimeEncoder}}
	flag.StringVar(&o.slurmImage, "slurm-image", "ghcr.io/slurmcluster/slurm:trixie", "Slurm image of clusters that name none")
	flag.StringVar(&o.ownNamespace, "operator-namespace", "", "namespace of the operator's own pods, which NetworkPolicies let in; empty: clusters get no NetworkPolicy")
	flag.StringVar(&o.namespaces, "watch-namespaces", "", "namespaces to look after, separated by commas; empty: all")
	flag.DurationVar(&o.pollInterval, "poll-interval", 15*time.Second, "how often a steady cluster's slurmctld is asked for job counts and node states")
	flag.BoolVar(&o.classes, "classes", true, "look at SlurmClusterClasses, which belong to no namespace")
	flag.BoolVar(&o.imageVolumes, "image-volumes", true, "mount the Slurm image as a volume where node sets have images of their own, as Kubernetes 1.35 and later can; otherwise an init container copies what is needed of it")
	flag.BoolVar(&o.leaderElect, "leader-elect", true, "let only one of several operators work at a time")
	flag.StringVar(&o.metrics, "metrics-bind-address", ":8080", "where Prometheus metrics are served; 0: nowhere")
	flag.StringVar(&o.probes, "health-probe-bind-address", ":8081", "where /healthz and /readyz are served")
	flag.StringVar(&o.pprof, "pprof-bind-address", "0", "where Go's profiles are served, such as 127.0.0.1:6060; 0: nowhere")
	o.logs.BindFlags(flag.CommandLine)
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.logs)))
	if o.pollInterval < time.Second {
		return fmt.Errorf("--poll-interval is %s; it must be at least 1s", o.pollInterval)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the Kubernetes API server: %w; run in a pod with a service account, or set KUBECONFIG", err)
	}
	// The API server has fairness of its own; a client-side limit would only make ten clusters wait in line.
	config.QPS = -1
	pods := &controller.Pods{}
	manager, err := ctrl.NewManager(config, managerOptions(o, pods))
	if err != nil {
		return fmt.Errorf("connecting to Kubernetes: %w", err)
	}
	newSlurm := func(timeout time.Duration) func(string, []byte) controller.Slurm {
		httpClient := controller.HTTPClient(timeout)
		return func(address string, key []byte) controller.Slurm {
			return &slurm.Client{Address: address, Key: key, HTTP: httpClient, Now: time.Now}
		}
	}
	r := &controller.Reconciler{
		Client:            manager.GetClient(),
		Pods:              pods,
		Reader:            manager.GetAPIReader(),
		Recorder:          manager.GetEventRecorder(contract.OperatorName),
		Clock:             clock.RealClock{},
		SlurmImage:        o.slurmImage,
		OperatorNamespace: o.ownNamespace,
		ImageVolumes:      o.imageVolumes,
		PollInterval:      o.pollInterval,
		WatchClasses:      o.classes,
		// Kubernetes' nodes belong to no namespace.
		WatchMachines: o.namespaces == "",
		NewSlurm:      newSlurm(controller.AnswerTimeout),
		NewListener:   newSlurm(controller.ListenTimeout),
	}
	ctx := ctrl.SetupSignalHandler()
	if err := r.SetupWithManager(ctx, manager); err != nil {
		return fmt.Errorf("setting up the controller: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{manager.AddHealthzCheck, manager.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return fmt.Errorf("adding health checks: %w", err)
		}
	}
	return manager.Start(ctx)
}
