package slurm

import (
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

// tokenLife is how long a token is good for: longer than any request, and than clocks differ.
const tokenLife = 10 * time.Minute

// NewToken makes a token with which slurmctld takes a request as SlurmUser's. Slurm's auth/jwt wants
// HS256 and the user's name in claim "sun".
func NewToken(key []byte, now time.Time) (string, error) {
	if len(key) < 32 {
		return "", fmt.Errorf("the cluster's JWT key has %d bytes, at least 32 are needed; delete the cluster's Secret to get new keys", len(key))
	}
	claims := jwt.MapClaims{"sun": contract.UserName, "iat": now.Unix(), "exp": now.Add(tokenLife).Unix()}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("signing a token for slurmrestd: %w", err)
	}
	return token, nil
}
