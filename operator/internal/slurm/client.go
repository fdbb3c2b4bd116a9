// Package slurm is a small client to one cluster's slurmctld: slurmrestd for nodes and jobs, and the agent
// in front of slurmctld for its configuration.
package slurm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// apiVersion is the data_parser version that Slurm 24.11 and 26.05 both have.
const apiVersion = "v0.0.42"

// answerLimit bounds an answer of slurmrestd, in bytes: about 3 kB a node or job.
const answerLimit = 256 << 20

// Client talks to the slurmctld of one cluster. It may be used by several goroutines, and is best kept: it signs a token anew only
// when the last one has become old.
type Client struct {
	// Address is the IP or name of the controller pod or its Service.
	Address string
	// Key is the cluster's JWT key.
	Key []byte
	// HTTP does the requests; it sets time-outs.
	HTTP *http.Client
	// Now is the clock that tokens are made by.
	Now func() time.Time

	mu     sync.Mutex
	token  string
	signed time.Time
}

// ErrUnavailable is wrapped by every error that means that slurmctld could not be asked: nobody answers,
// or the answer is not slurmrestd's. It says nothing about the cluster, so nothing may follow from it.
var ErrUnavailable = errors.New("slurmctld does not answer")

// ErrRefused is wrapped by every error that is slurmctld's own answer.
var ErrRefused = errors.New("slurmctld refused")

// ErrNoNode is wrapped by the error for a node that slurmctld does not know.
var ErrNoNode = errors.New("slurmctld does not know the node")

// answer is what every response of slurmrestd has.
type answer struct {
	Meta struct {
		Slurm struct {
			Release string `json:"release"`
		} `json:"slurm"`
	} `json:"meta"`
	Errors []struct {
		Description string `json:"description"`
		Error       string `json:"error"`
		Number      int    `json:"error_number"`
	} `json:"errors"`
}

// Nodes lists all nodes and tells the version of Slurm.
func (c *Client) Nodes(ctx context.Context) (nodes []Node, version string, err error) {
	var body struct {
		answer
		Nodes []Node `json:"nodes"`
	}
	if err := c.call(ctx, http.MethodGet, "nodes/", nil, &body, &body.answer); err != nil {
		return nil, "", fmt.Errorf("listing nodes: %w", err)
	}
	shareWords(body.Nodes)
	return body.Nodes, body.Meta.Slurm.Release, nil
}

// Node asks for one node; the error for one that slurmctld does not know wraps ErrNoNode.
func (c *Client) Node(ctx context.Context, name string) (Node, error) {
	var body struct {
		answer
		Nodes []Node `json:"nodes"`
	}
	err := c.call(ctx, http.MethodGet, "node/"+url.PathEscape(name), nil, &body, &body.answer)
	if len(body.Nodes) == 0 && len(body.Errors) == 1 && body.Errors[0].Number == 0 {
		// slurmrestd says that it failed, with "No error".
		return Node{}, fmt.Errorf("asking for node %s: %w", name, ErrNoNode)
	}
	if err != nil {
		return Node{}, fmt.Errorf("asking for node %s: %w", name, err)
	}
	if len(body.Nodes) != 1 {
		return Node{}, fmt.Errorf("asking for node %s: %w: the answer has %d nodes", name, ErrUnavailable, len(body.Nodes))
	}
	return body.Nodes[0], nil
}

// Jobs lists the states of all jobs that slurmctld still knows, ended ones included.
func (c *Client) Jobs(ctx context.Context) ([]Job, error) {
	var body struct {
		answer
		Jobs []Job `json:"jobs"`
	}
	if err := c.call(ctx, http.MethodGet, "jobs/state/", nil, &body, &body.answer); err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return body.Jobs, nil
}

// JobInfos lists all that slurmctld knows of all jobs, so it is only for when that is needed.
func (c *Client) JobInfos(ctx context.Context) ([]JobInfo, error) {
	var body struct {
		answer
		Jobs []JobInfo `json:"jobs"`
	}
	if err := c.call(ctx, http.MethodGet, "jobs/", nil, &body, &body.answer); err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	return body.Jobs, nil
}

// BeginJob lets a pending job start from a time on, and no sooner.
func (c *Client) BeginJob(ctx context.Context, id int64, when time.Time) error {
	request := map[string]any{"begin_time": Time{Set: true, Number: when.Unix()}}
	var body answer
	if err := c.call(ctx, http.MethodPost, "job/"+strconv.FormatInt(id, 10), request, &body, &body); err != nil {
		return fmt.Errorf("letting job %d begin: %w", id, err)
	}
	return nil
}

// CommentJob says something of a job to those who look at it.
func (c *Client) CommentJob(ctx context.Context, id int64, comment string) error {
	var body answer
	if err := c.call(ctx, http.MethodPost, "job/"+strconv.FormatInt(id, 10), map[string]any{"admin_comment": comment}, &body, &body); err != nil {
		return fmt.Errorf("commenting job %d: %w", id, err)
	}
	return nil
}

// NoReason is the reason to give with RESUME. Slurm would otherwise keep the old one, even for an empty one,
// and with it set the node down later.
const NoReason = "none"

// UpdateNode changes a node's state and, unless it is empty, its reason.
func (c *Client) UpdateNode(ctx context.Context, name string, state UpdateState, reason string) error {
	request := struct {
		State  []UpdateState `json:"state"`
		Reason string        `json:"reason,omitempty"`
	}{[]UpdateState{state}, reason}
	var body answer
	if err := c.call(ctx, http.MethodPost, "node/"+url.PathEscape(name), request, &body, &body); err != nil {
		return fmt.Errorf("setting node %s to %s: %w", name, state, err)
	}
	return nil
}

// DeleteNode makes slurmctld forget a node. It refuses while the node runs something.
func (c *Client) DeleteNode(ctx context.Context, name string) error {
	var body answer
	if err := c.call(ctx, http.MethodDelete, "node/"+url.PathEscape(name), nil, &body, &body); err != nil {
		return fmt.Errorf("deleting node %s: %w", name, err)
	}
	return nil
}

// call does one request to slurmrestd. common is the part of out that every answer has: one without
// Slurm's release is not from slurmrestd, whatever its status.
func (c *Client) call(ctx context.Context, method, path string, in, out any, common *answer) error {
	token, err := c.currentToken()
	if err != nil {
		return err
	}
	target := "http://" + net.JoinHostPort(c.Address, strconv.Itoa(contract.PortSlurmrestd)) +
		"/slurm/" + apiVersion + "/" + path
	body, status, err := c.do(ctx, method, target, token, in)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, out); err != nil || common.Meta.Slurm.Release == "" {
		return fmt.Errorf("%w: %s %s answered %d, not as slurmrestd does", ErrUnavailable, method, target, status)
	}
	return common.verdict(status)
}

// verdict turns slurmrestd's errors into one. A slurmctld that slurmrestd cannot reach shows as such an
// error too, with any status.
func (a *answer) verdict(status int) error {
	if len(a.Errors) > 0 {
		e := a.Errors[0]
		text := e.Error
		if e.Description != "" && e.Description != e.Error {
			text += ": " + e.Description
		}
		kind := ErrRefused
		if isCommunication(e.Number) {
			kind = ErrUnavailable
		}
		return fmt.Errorf("%w (error %d): %s", kind, e.Number, text)
	}
	if status >= 300 {
		return fmt.Errorf("%w with HTTP status %d", ErrRefused, status)
	}
	return nil
}

// isCommunication tells whether an error number of slurm_errno.h is about reaching slurmctld (1000 to
// 1999), or about Slurm's protocol and its authentication (5000 to 6999), not slurmctld's own verdict.
func isCommunication(number int) bool {
	return number >= 1000 && number < 2000 || number >= 5000 && number < 7000
}

func (c *Client) do(ctx context.Context, method, target, token string, in any) ([]byte, int, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, 0, fmt.Errorf("writing the request: %w", err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, 0, fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set(contract.UserHeader, contract.UserName)
		request.Header.Set(contract.TokenHeader, token)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: reading the answer: %w", ErrUnavailable, err)
	}
	return text, response.StatusCode, nil
}
