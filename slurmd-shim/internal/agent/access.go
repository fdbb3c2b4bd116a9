package agent

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

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
