package node

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"time"
)

// probe asks components for their health. It does not verify certificates: it
// reads nothing but a status code, from addresses within this namespace.
var probe = &http.Client{
	Timeout: time.Second,
	Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it only asks whether something answers on this machine
		DisableKeepAlives: true,
	},
}

// healthy asks a health URL, or dials a unix socket.
func healthy(ctx context.Context, target string) bool {
	if path, isSocket := strings.CutPrefix(target, "unix://"); isSocket {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return false
	}
	response, err := probe.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
