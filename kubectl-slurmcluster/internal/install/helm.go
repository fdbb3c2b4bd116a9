package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	helmcli "helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/getter"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/slurmcluster/slurmcluster/charts"
	"github.com/slurmcluster/slurmcluster/kubectl-slurmcluster/internal/cli"
)

// release is the Helm release of the operator.
type release struct {
	config    *action.Configuration
	namespace string
	chart     *chart.Chart
}

func newRelease(env *cli.Env, namespace string) (*release, error) {
	operator, err := loadChart()
	if err != nil {
		return nil, err
	}
	config := &action.Configuration{}
	quiet := func(string, ...any) {}
	if err := config.Init(env.Flags, namespace, "secret", quiet); err != nil {
		return nil, fmt.Errorf("preparing Helm: %w", err)
	}
	return &release{config: config, namespace: namespace, chart: operator}, nil
}

// loadChart reads the chart that is built in.
func loadChart() (*chart.Chart, error) {
	var files []*loader.BufferedFile
	err := fs.WalkDir(charts.Files, charts.Operator, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := charts.Files.ReadFile(path)
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(path, charts.Operator+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the built-in chart: %w", err)
	}
	return loader.LoadFiles(files)
}

func mergeValues(options values.Options) (map[string]any, error) {
	merged, err := options.MergeValues(getter.All(helmcli.New()))
	if err != nil {
		return nil, fmt.Errorf("reading --values and --set: %w", err)
	}
	return merged, nil
}

// apply installs or upgrades the chart. CRDs are not Helm's business here, because it never updates them.
func (r *release) apply(ctx context.Context, chartValues map[string]any, reset bool, timeout time.Duration) (string, error) {
	last, err := r.config.Releases.Last(charts.Operator)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return r.install(ctx, chartValues, timeout)
	}
	if err != nil {
		return "", err
	}
	if last.Info.Status.IsPending() {
		if err := r.takeOver(last, timeout); err != nil {
			return "", err
		}
	}
	return r.upgrade(ctx, chartValues, reset, timeout)
}

func (r *release) install(ctx context.Context, chartValues map[string]any, timeout time.Duration) (string, error) {
	install := action.NewInstall(r.config)
	install.ReleaseName, install.Namespace = charts.Operator, r.namespace
	install.SkipCRDs = true
	install.Timeout = timeout
	_, err := install.RunWithContext(ctx, r.chart, chartValues)
	return r.chart.Metadata.Version + " installed", err
}

func (r *release) upgrade(ctx context.Context, chartValues map[string]any, reset bool, timeout time.Duration) (string, error) {
	upgrade := action.NewUpgrade(r.config)
	upgrade.Namespace = r.namespace
	upgrade.SkipCRDs = true
	upgrade.Timeout = timeout
	upgrade.MaxHistory = 5
	upgrade.ResetValues = reset
	upgrade.ResetThenReuseValues = !reset
	upgraded, err := upgrade.RunWithContext(ctx, charts.Operator, r.chart, chartValues)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s installed, revision %d", r.chart.Metadata.Version, upgraded.Version), nil
}

// takeOver marks as failed what a killed process left unfinished; Helm would refuse to go on for ever.
func (r *release) takeOver(last *helmrelease.Release, timeout time.Duration) error {
	begun := last.Info.LastDeployed.Time
	if age := time.Since(begun); age < timeout {
		return fmt.Errorf("another install began %s ago and has not ended; wait for it, or, if it was killed, try again in %s",
			age.Round(time.Second), (timeout - age).Round(time.Second))
	}
	last.SetStatus(helmrelease.StatusFailed, "the install did not end")
	return r.config.Releases.Update(last)
}

// uninstall removes the release and says whether there was one.
func (r *release) uninstall(timeout time.Duration) (string, error) {
	uninstall := action.NewUninstall(r.config)
	uninstall.IgnoreNotFound = true
	uninstall.Wait = true
	uninstall.Timeout = timeout
	uninstall.DeletionPropagation = "foreground"
	response, err := uninstall.Run(charts.Operator)
	if err != nil {
		return "", err
	}
	if response == nil || response.Release == nil {
		return "was not installed", nil
	}
	return "removed", nil
}
