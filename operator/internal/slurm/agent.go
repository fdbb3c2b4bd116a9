package slurm

import (
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
