package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Access is what clients need to use a link. The zero value: nothing, because links log in for their clients.
type Access struct {
	User     string // whom clients log in as; empty: they need not log in
	Password string
	CA       string // path of a PEM file with the authority of the links' certificates; empty: links speak no TLS
}

// Guarded is a cluster whose clients may need something to use a link.
type Guarded interface{ Access() Access }

// URL returns the address of a link with all that clients need to know, as in rediss://user:password@127.0.0.1:6379.
func (a Access) URL(link string) string {
	u := url.URL{Scheme: "redis", Host: link}
	if a.CA != "" {
		u.Scheme = "rediss"
	}
	if a.User != "" {
		u.User = url.UserPassword(a.User, a.Password)
	}
	return u.String()
}

// Env returns the variables, as NAME=value, by which most TLS libraries find the authority of the links' certificates.
func (a Access) Env() []string {
	if a.CA == "" {
		return nil
	}
	return []string{"SSL_CERT_FILE=" + a.CA, "NODE_EXTRA_CA_CERTS=" + a.CA}
}

// TLS returns the settings of a client of a link; nil: the link speaks no TLS.
func (a Access) TLS() (*tls.Config, error) {
	if a.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(a.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the masters' certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", a.CA)
	}
	return &tls.Config{RootCAs: roots}, nil
}

// User is a user of masters, by the rules that Redis has for users (ACL).
type User struct {
	Name     string
	Password string
	Rules    string // as Redis's own files have them, password included
}

// errUsers says how users are written.
var errUsers = errors.New("each line is a user as in Redis's ACL files, such as: user app on >secret ~* +@all; of a file: --acl \"$(cat users.acl)\"")

// ParseUsers parses users, one a line, in the format of Redis's ACL files. Clients log in as the first of them. What the rules
// mean is left to Redis.
func ParseUsers(text string) ([]User, error) {
	var all []User
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] != "user" || len(words) < 2 {
			return nil, errUsers
		}
		u := User{Name: words[1], Rules: strings.Join(words[2:], " ")}
		password := slices.IndexFunc(words[2:], func(w string) bool { return strings.HasPrefix(w, ">") && len(w) > 1 })
		switch {
		case u.Name == "default":
			return nil, errors.New("the user default is Lockpick's own: give the clients a user of another name")
		case slices.ContainsFunc(all, func(o User) bool { return o.Name == u.Name }):
			return nil, fmt.Errorf("there are two users %s", u.Name)
		case strings.ContainsAny(line, `"'\`):
			return nil, fmt.Errorf("the user %s has quotes or backslashes, which are not possible here", u.Name)
		case password < 0:
			return nil, fmt.Errorf("the user %s needs a password that clients can be told, such as >secret", u.Name)
		case !slices.Contains(words[2:], "on"):
			return nil, fmt.Errorf("the user %s cannot log in without the rule on", u.Name)
		}
		u.Password = words[2+password][1:]
		all = append(all, u)
	}
	if len(all) == 0 {
		return nil, errUsers
	}
	return all, nil
}

// certified is by how much certificates are valid before and after now: faults step clients' clocks by as much as years.
const certified = 30 * 365 * 24 * time.Hour

// NewCertificate makes a certificate for 127.0.0.1 and localhost, and the authority that has signed it. Its key exists in the
// memory of this process alone; ca is the authority's certificate as PEM.
func NewCertificate() (server *tls.Config, ca []byte, err error) {
	sign := func(t, parent *x509.Certificate, key, by *ecdsa.PrivateKey) ([]byte, error) {
		t.NotBefore, t.NotAfter = time.Now().Add(-certified), time.Now().Add(certified)
		return x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, by)
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Lockpick"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed, err := sign(authority, authority, authorityKey, authorityKey)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	if authority, err = x509.ParseCertificate(signed); err != nil { // with the id that the server's certificate names
		return nil, nil, err
	}
	own, err := sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, authority, key, authorityKey)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	server = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own}, PrivateKey: key}}}
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), nil
}
