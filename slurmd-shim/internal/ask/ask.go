// Package ask asks slurmctld's agent, from wherever in the cluster.
package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// Agent is the URL of slurmctld's agent.
type Agent string

// At is the agent on a host, which is slurmctld's.
func At(host string) Agent {
	return Agent("http://" + net.JoinHostPort(host, strconv.Itoa(contract.PortAgent)))
}

// Get asks for what is at a path, and reads it into out, unless that is nil.
func (a Agent) Get(ctx context.Context, path string, out any) error {
	return a.do(ctx, http.MethodGet, path, nil, out)
}

// Post tells the agent in, unless that is nil, and reads its answer into out, unless that is.
func (a Agent) Post(ctx context.Context, path string, in, out any) error {
	return a.do(ctx, http.MethodPost, path, in, out)
}

func (a Agent) do(ctx context.Context, method, path string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return fmt.Errorf("ask slurmctld's agent: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, string(a)+path, &body)
	if err != nil {
		return fmt.Errorf("ask slurmctld's agent: %w", err)
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // the host is slurmctld's, as the operator says
	if err != nil {
		return fmt.Errorf("ask slurmctld's agent: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it was read, or is not wanted
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask slurmctld's agent: it answered %s", response.Status)
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(out); err != nil {
		return fmt.Errorf("read what slurmctld's agent answered: %w", err)
	}
	return nil
}
