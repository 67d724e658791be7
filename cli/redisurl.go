package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"lockpick/internal/otherfile"
)

// redisFlags holds the flags about connections to a Redis of the user.
type redisFlags struct {
	caFile   string
	insecure bool
}

func (f *redisFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.caFile, "tls-ca", "", "file with the certificates that sign those of the Redis (PEM; default: the system's)")
	cmd.Flags().BoolVar(&f.insecure, "tls-insecure", false, "do not verify the certificates of the Redis")
}

// options parses the address of a Redis, a host and port or a URL, and sets up TLS.
func (f *redisFlags) options(text string) (*redis.Options, error) {
	url := text
	if !strings.Contains(text, "://") {
		url = "redis://" + text
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the address of a Redis takes host:port, redis://… or rediss://…") // err may quote a password
	}
	if o.TLSConfig != nil {
		o.TLSConfig.InsecureSkipVerify = f.insecure
		o.TLSConfig.MinVersion = tls.VersionTLS12
		if f.caFile != "" {
			pem, err := otherfile.Read(f.caFile, otherfile.MaxResult)
			if err != nil {
				return nil, fmt.Errorf("--tls-ca: %w", err)
			}
			o.TLSConfig.RootCAs = x509.NewCertPool()
			if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("--tls-ca: %s contains no certificate in PEM", f.caFile)
			}
		}
	}
	return o, nil
}
