//go:build e2e

package suite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"

	"github.com/slurmcluster/slurmcluster/e2e/suite/harness"
)

// TestTutorial is a newcomer's road: an account that may edit one namespace under Pod Security "restricted" types each
// command of the tutorial and sees what it prints there.
func TestTutorial(t *testing.T) {
	t.Parallel()
	e := harness.New(t)
	tenant(e)
	work := t.TempDir()
	environment := append(os.Environ(), "KUBECONFIG="+accountKubeconfig(e, "tenant", work))
	text, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	steps := consoleSteps(string(text))
	require.Greater(t, len(steps), 15)
	for _, step := range steps {
		check := func() error { return step.try(e.Ctx, work, environment) }
		if step.shown == "" && strings.Contains(step.command, "kubectl get") {
			e.Eventually(harness.Patience, "nothing is left", check)
		} else {
			require.NoError(t, check())
		}
	}
}

func stderr(err error) string {
	if ended, ok := err.(*exec.ExitError); ok { //nolint:errorlint // as exec returns it
		return string(ended.Stderr)
	}
	return ""
}

// accountKubeconfig writes a kubeconfig for a service account of the test's namespace, and returns its name.
func accountKubeconfig(e *harness.Env, account, dir string) string {
	token, err := e.Set.CoreV1().ServiceAccounts(e.Namespace).CreateToken(e.Ctx, account, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	require.NoError(e, err)
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	require.NoError(e, err)
	current := config.Contexts[config.CurrentContext]
	require.NoError(e, api.FlattenConfig(config))
	mine := api.NewConfig()
	mine.Clusters["here"] = config.Clusters[current.Cluster]
	mine.AuthInfos[account] = &api.AuthInfo{Token: token.Status.Token}
	mine.Contexts["here"] = &api.Context{Cluster: "here", AuthInfo: account, Namespace: e.Namespace}
	mine.CurrentContext = "here"
	file := filepath.Join(dir, "kubeconfig")
	require.NoError(e, clientcmd.WriteToFile(*mine, file))
	return file
}

// consoleStep is a command of a document and what it prints; "..." stands for anything.
type consoleStep struct {
	command, shown string
	prints         *regexp.Regexp
}

// stepTime is how long a command of a document may take.
const stepTime = 5 * time.Minute

// try types the command and compares what it prints.
func (s consoleStep) try(ctx context.Context, dir string, environment []string) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", s.command)
	command.Dir, command.Env = dir, environment
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("$ %s\n%s%w: %s", s.command, out, err, stderr(err))
	}
	if !s.prints.Match(out) {
		return fmt.Errorf("$ %s\nprints\n%s\nand not\n%s", s.command, out, s.shown)
	}
	return nil
}

// consoleSteps finds the commands in a document's console blocks: lines after "$ ", gone on with by lines after "> ".
func consoleSteps(text string) []consoleStep {
	var steps []consoleStep
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(steps) - 1
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, consoleStep{command: line[2:]})
		case strings.HasPrefix(line, "> ") && steps[last].shown == "":
			steps[last].command += "\n" + line[2:]
		default:
			steps[last].shown += line + "\n"
		}
	}
	for i := range steps {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(steps[i].shown), regexp.QuoteMeta("..."), "(?s:.*)")
		steps[i].prints = regexp.MustCompile("^" + strings.ReplaceAll(pattern, "(?s:.*)\n", "(?s:.*)\n?") + "$")
	}
	return steps
}
