// Command node is all of Kubernetes in one multi-call binary: it runs the
// component that its own file name, or its first argument, names.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps the name of each component to what runs it. Commands are
// made lazily, since building a command tree registers global flags.
var components = map[string]func(args []string) int{
	"etcd":                    func(args []string) int { etcdmain.Main(args); return 0 },
	"kube-apiserver":          command(apiserver.NewAPIServerCommand),
	"kube-controller-manager": command(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          command(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              command(proxy.NewProxyCommand),
	"kubelet":                 command(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"storage-provisioner":     command(newStorageCommand),
	"kubectl":                 runKubectl,
}

func command(build func() *cobra.Command) func([]string) int {
	return func([]string) int { return cli.Run(build()) }
}

func runKubectl([]string) int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args
	if _, known := components[name]; !known && len(os.Args) > 1 {
		name, args = os.Args[1], os.Args[1:]
	}
	run, known := components[name]
	if !known {
		fmt.Fprintf(os.Stderr, "node: no component is named %q\n", name)
		os.Exit(2)
	}
	os.Args = args
	os.Exit(run(args))
}
