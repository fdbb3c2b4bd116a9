package agent

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// allowed refuses requests without a token of the cluster's user.
func (a *Agent) allowed(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		claims, err := a.claims(r)
		if err == nil && claims["sun"] != contract.UserName {
			err = fmt.Errorf("the token is for %v", claims["sun"])
		}
		if err != nil {
			unauthorized(w, err)
			return
		}
		serve(w, r)
	}
}

// claims are those of a request's token, in a header of Slurm's or as a bearer's. It was made with the cluster's key and has not
// expired.
func (a *Agent) claims(r *http.Request) (jwt.MapClaims, error) {
	key, err := os.ReadFile(a.JWTCopy)
	if err != nil {
		return nil, err
	}
	token := r.Header.Get(contract.TokenHeader)
	if bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is && token == "" {
		token = bearer
	}
	claims := jwt.MapClaims{}
	_, err = jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return key, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Name}), jwt.WithExpirationRequired())
	return claims, err
}

func unauthorized(w http.ResponseWriter, err error) {
	http.Error(w, "a token for this cluster is needed: "+err.Error(), http.StatusUnauthorized)
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
