// Package control is how the localkube command talks to pid 1 of the cluster:
// HTTP over a unix socket.
package control

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Component is the state of one component as pid 1 sees it.
type Component struct {
	Name     string `json:"name"`
	PID      int    `json:"pid"` // within the cluster's pid namespace
	Healthy  bool   `json:"healthy"`
	Wanted   bool   `json:"wanted"`
	Restarts int    `json:"restarts"`
	LastExit string `json:"lastExit,omitempty"`
}

// Paths of the requests.
const (
	StatusPath = "/status"
	StartPath  = "/start/"
	StopPath   = "/stop/"
)

// Client asks one cluster.
type Client struct{ http *http.Client }

// NewClient makes a client of the socket at path.
func NewClient(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{&http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
	}}
}

// Status returns the state of every component.
func (c *Client) Status(ctx context.Context) ([]Component, error) {
	body, err := c.do(ctx, http.MethodGet, StatusPath)
	if err != nil {
		return nil, err
	}
	var components []Component
	if err := json.Unmarshal(body, &components); err != nil {
		return nil, fmt.Errorf("decoding the cluster's status: %w", err)
	}
	return components, nil
}

// Start lets a stopped component run again.
func (c *Client) Start(ctx context.Context, component string) error {
	_, err := c.do(ctx, http.MethodPost, StartPath+component)
	return err
}

// Stop kills a component and keeps it down.
func (c *Client) Stop(ctx context.Context, component string) error {
	_, err := c.do(ctx, http.MethodPost, StopPath+component)
	return err
}

func (c *Client) do(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://localkube"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the cluster: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the cluster: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the cluster refuses: %s", strings.TrimSpace(string(body)))
	}
	return body, nil
}
