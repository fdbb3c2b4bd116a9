package slurm

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

// Config asks the agent in front of slurmctld which configuration runs.
func (c *Client) Config(ctx context.Context) (contract.AgentConfig, error) {
	target := "http://" + net.JoinHostPort(c.Address, strconv.Itoa(contract.PortAgent)) + contract.AgentPathConfig
	body, status, err := c.do(ctx, http.MethodGet, target, "", nil)
	if err != nil {
		return contract.AgentConfig{}, fmt.Errorf("asking for the running configuration: %w", err)
	}
	var config contract.AgentConfig
	if err := json.Unmarshal(body, &config); err != nil || config.RunningHash == "" {
		return contract.AgentConfig{}, fmt.Errorf("asking for the running configuration: %w: %s answered %d, not as the agent does", ErrUnavailable, target, status)
	}
	return config, nil
}

// CreateNodes makes nodes that Slurm switches on when jobs need them.
func (c *Client) CreateNodes(ctx context.Context, nodes contract.CloudNodes) error {
	body, status, err := c.askAgent(ctx, http.MethodPost, contract.AgentPathNodes, nodes)
	if err != nil {
		return fmt.Errorf("making nodes: %w", err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("making nodes: %w: %s", ErrRefused, bytes.TrimSpace(body))
	}
	return nil
}

// AwaitEvents returns once the number of events in slurmctld is not after, or after some time.
func (c *Client) AwaitEvents(ctx context.Context, after uint64) (uint64, error) {
	body, status, err := c.askAgent(ctx, http.MethodGet, fmt.Sprintf("%s?after=%d", contract.AgentPathEvents, after), nil)
	if err != nil {
		return after, fmt.Errorf("waiting for events: %w", err)
	}
	var events contract.AgentEvents
	if err := json.Unmarshal(body, &events); err != nil || status != http.StatusOK {
		return after, fmt.Errorf("waiting for events: %w: the agent answered %d: %s", ErrUnavailable, status, bytes.TrimSpace(body))
	}
	return events.Count, nil
}

// Visitors tells who has a shell in slurmctld's pod.
func (c *Client) Visitors(ctx context.Context) (visitors contract.AgentVisitors, err error) {
	body, status, err := c.askAgent(ctx, http.MethodGet, contract.AgentPathVisitors, nil)
	if err != nil {
		return visitors, fmt.Errorf("asking for visitors: %w", err)
	}
	if err := json.Unmarshal(body, &visitors); err != nil || status != http.StatusOK {
		return visitors, fmt.Errorf("asking for visitors: %w: the agent answered %d: %s", ErrUnavailable, status, bytes.TrimSpace(body))
	}
	return visitors, nil
}

// Announce shows a line of text to everybody who has a shell in slurmctld's pod, or an interactive job.
func (c *Client) Announce(ctx context.Context, text string) error {
	body, status, err := c.askAgent(ctx, http.MethodPost, contract.AgentPathAnnounce, contract.AgentAnnouncement{Text: text})
	if err != nil {
		return fmt.Errorf("announcing: %w", err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("announcing: %w: %s", ErrRefused, bytes.TrimSpace(body))
	}
	return nil
}

func (c *Client) askAgent(ctx context.Context, method, path string, in any) ([]byte, int, error) {
	token, err := c.currentToken()
	if err != nil {
		return nil, 0, err
	}
	return c.do(ctx, method, "http://"+net.JoinHostPort(c.Address, strconv.Itoa(contract.PortAgent))+path, token, in)
}
