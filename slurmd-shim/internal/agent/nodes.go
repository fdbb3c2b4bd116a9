package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// What may stand in a node's line, so that no value can begin another one.
var (
	nodeName    = regexp.MustCompile(`^[a-z][-a-z0-9]{0,40}$`)
	nodeFeature = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9_.]{0,40}$`)
	nodeGres    = regexp.MustCompile(`^([a-z][a-z0-9_]*:[0-9]+(,|$))*$`)
)

// createTime is how long slurmctld may take to make nodes.
const createTime = 20 * time.Second

// line is what scontrol makes nodes from. Such a node has a share of a machine's CPUs, none in particular.
func line(n contract.CloudNodes) ([]string, error) {
	for _, name := range n.Names {
		if !nodeName.MatchString(name) {
			return nil, fmt.Errorf("%q is no name of a node", name)
		}
	}
	for _, feature := range n.Features {
		if !nodeFeature.MatchString(feature) {
			return nil, fmt.Errorf("%q is no feature of a node", feature)
		}
	}
	if len(n.Names) == 0 || len(n.Features) == 0 || n.CPUs < 1 || n.MemoryMB < 1 || !nodeGres.MatchString(n.Gres) {
		return nil, fmt.Errorf("expected names, features, CPUs, memory and a GRES such as gpu:2, got %+v", n)
	}
	args := []string{
		"NodeName=" + strings.Join(n.Names, ","), fmt.Sprintf("CPUs=%d", n.CPUs), "Boards=1", "SocketsPerBoard=1",
		fmt.Sprintf("CoresPerSocket=%d", n.CPUs), "ThreadsPerCore=1", fmt.Sprintf("RealMemory=%d", n.MemoryMB),
		"Feature=" + strings.Join(n.Features, ","), "State=CLOUD",
	}
	if n.Gres != "" {
		args = append(args, "Gres="+n.Gres)
	}
	return args, nil
}

// createNodes makes nodes that Slurm powers up when jobs need them.
func (a *Agent) createNodes(ctx context.Context, n contract.CloudNodes) error {
	args, err := line(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, a.Scontrol, append([]string{"create"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("scontrol create: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// link makes the links that slurm.conf names as programs.
func (a *Agent) link() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	for _, link := range a.Links {
		err = os.Remove(link)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.Symlink(self, link)
		}
		if err != nil {
			return fmt.Errorf("make a program for slurm.conf: %w", err)
		}
	}
	return nil
}

// bell counts events and wakes who waits for the next.
type bell struct {
	mu    sync.Mutex
	count uint64
	next  chan struct{}
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

// wait returns the count once it is not after, or when ctx ends.
func (b *bell) wait(ctx context.Context, after uint64) uint64 {
	b.mu.Lock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	count, next := b.count, b.next
	b.mu.Unlock()
	if count != after {
		return count
	}
	select {
	case <-next:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// allowed refuses requests without a token of the cluster's.
func (a *Agent) allowed(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, err := os.ReadFile(a.JWTCopy)
		claims := jwt.MapClaims{}
		if err == nil {
			_, err = jwt.ParseWithClaims(r.Header.Get(contract.TokenHeader), claims, func(*jwt.Token) (any, error) { return key, nil },
				jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Name}), jwt.WithExpirationRequired())
		}
		if err == nil && claims["sun"] != contract.UserName {
			err = fmt.Errorf("the token is for %v", claims["sun"])
		}
		if err != nil {
			http.Error(w, "a token for this cluster is needed: "+err.Error(), http.StatusUnauthorized)
			return
		}
		serve(w, r)
	}
}

func (a *Agent) serveNodes(w http.ResponseWriter, r *http.Request) {
	var n contract.CloudNodes
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&n)
	if err == nil {
		err = a.createNodes(r.Context(), n)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (a *Agent) serveEvents(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		http.Error(w, "after: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), contract.AgentEventsWait*time.Second)
	defer cancel()
	a.answer(w, contract.AgentEvents{Count: a.events.wait(ctx, after)})
}

// local refuses requests from elsewhere than slurmctld's own pod.
func local(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil || !net.ParseIP(host).IsLoopback() {
			http.Error(w, "only Slurm in this pod may ask that", http.StatusForbidden)
			return
		}
		serve(w, r)
	}
}

func (a *Agent) servePower(http.ResponseWriter, *http.Request) {
	a.readiness.forget()
	a.events.ring()
}
