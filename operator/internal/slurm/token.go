package slurm

import (
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmcluster/slurmcluster/api/contract"
)

const (
	// tokenLife is how long a token is good for: longer than any request, and than clocks differ.
	tokenLife = 10 * time.Minute
	// tokenUse is how long one is used.
	tokenUse = tokenLife / 2
)

// currentToken is the last token, or a new one where that is old, or the clock was set back.
func (c *Client) currentToken() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	if age := now.Sub(c.signed); c.token != "" && age >= 0 && age < tokenUse {
		return c.token, nil
	}
	token, err := newToken(c.Key, now)
	if err != nil {
		return "", err
	}
	c.token, c.signed = token, now
	return token, nil
}

// newToken makes a token with which slurmctld takes a request as SlurmUser's. Slurm's auth/jwt wants
// HS256 and the user's name in claim "sun".
func newToken(key []byte, now time.Time) (string, error) {
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
