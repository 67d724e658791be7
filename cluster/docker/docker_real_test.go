//go:build real

package docker

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3/docker"

	"lockpick/cluster"
	"lockpick/cluster/process"
	"lockpick/internal/waittest"
)

// needDocker skips a test, and says why, where there is no Docker engine.
func needDocker(t *testing.T) {
	t.Helper()
	if ok, why := Available(t.Context(), ""); !ok {
		t.Skip(why)
	}
}

func engineFor(t *testing.T) *docker.Client {
	t.Helper()
	pool, _, err := connect(t.Context())
	if err != nil {
		t.Skip(err)
	}
	return pool.Client
}

func TestContainersSayWhoseTheyAre(t *testing.T) {
	needDocker(t)
	client := engineFor(t)
	cluster, err := Start(inAMinute(t), cluster.Config{Masters: 2})
	if err != nil {
		t.Fatal(err)
	}
	own, err := OwnContainers(t.Context())
	if err != nil || len(own) != 2 {
		t.Errorf("there are %v, %v", own, err)
	}
	var masters []string
	for _, name := range own {
		c, err := client.InspectContainer(name)
		if err != nil {
			t.Fatal(err)
		}
		masters = append(masters, c.Config.Labels[masterLabel])
		want := map[string]string{ourLabel: "1", ownerLabel: process.Self().String(), placeLabel: process.Place()}
		for k, v := range want {
			if got := c.Config.Labels[k]; got != v {
				t.Errorf("%s: label %s is %q, want %q", name, k, got, v)
			}
		}
		if c.HostConfig.AutoRemove || c.HostConfig.RestartPolicy.Name != "no" {
			t.Errorf("%s: auto-remove %v, restart %q", name, c.HostConfig.AutoRemove, c.HostConfig.RestartPolicy.Name)
		}
		if want := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()); c.Config.User != want {
			t.Errorf("%s runs as %s, want %s", name, c.Config.User, want)
		}
		if h := c.HostConfig; !h.ReadonlyRootfs || !slices.Equal(h.CapDrop, []string{"ALL"}) || !slices.Contains(h.SecurityOpt, "no-new-privileges") || h.Privileged {
			t.Errorf("%s: read-only %v, capabilities dropped %v, options %v, privileged %v", name, h.ReadonlyRootfs, h.CapDrop, h.SecurityOpt, h.Privileged)
		}
		if b := c.HostConfig.PortBindings[insidePort+"/tcp"]; len(b) != 1 || b[0].HostIP != "127.0.0.1" {
			t.Errorf("%s: bound to %v", name, b)
		}
	}
	if slices.Sort(masters); !slices.Equal(masters, []string{"m1", "m2"}) {
		t.Errorf("the containers are those of %v", masters)
	}
	if err := cluster.Close(); err != nil {
		t.Fatal(err)
	}
	if own, err := OwnContainers(t.Context()); err != nil || len(own) > 0 {
		t.Errorf("left behind: %v, %v", own, err)
	}
}

func TestAnImageIsBuiltOnce(t *testing.T) {
	needDocker(t)
	if ok, why := process.Available(t.Context()); !ok { // it is built from that redis-server
		t.Skip(why)
	}
	client := engineFor(t)
	var said []string
	progress := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	for range 2 {
		said = nil
		ref, err := BuildImage(t.Context(), progress)
		if err != nil || ref != builtImage {
			t.Fatalf("%s, %v", ref, err)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "up to date") {
		t.Errorf("the second time it said %q", said)
	}
	image, err := client.InspectImage(builtImage)
	if err != nil {
		t.Fatal(err)
	}
	if image.Config.Labels[ourLabel] != "image" || len(image.Config.Labels[imageLabel]) != 64 {
		t.Errorf("labels %v", image.Config.Labels)
	}
	if mb := image.Size >> 20; mb < 2 || mb > 60 {
		t.Errorf("it has %d MB", mb)
	}
	if ok, why := Available(t.Context(), builtImage); !ok || !strings.Contains(why, "is local") {
		t.Errorf("available: %v, %s", ok, why)
	}
	if _, why, err := DefaultImage(t.Context()); err != nil || why == "" {
		t.Errorf("default image: %q, %v", why, err)
	}
}

// registry serves one image that holds one text file, and no redis-server. The
// engine takes a registry on a loopback address without TLS.
func registry(t *testing.T) (ref string) {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	w.WriteHeader(&tar.Header{Name: "readme", Mode: 0o644, Size: 2})
	w.Write([]byte("hi"))
	w.Close()
	var layer bytes.Buffer
	z := gzip.NewWriter(&layer)
	z.Write(archive.Bytes())
	z.Close()
	digest := func(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }
	encode := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	config := encode(map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(archive.Bytes())}},
	})
	const manifestType = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := encode(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": map[string]any{"mediaType": "application/vnd.docker.container.image.v1+json", "size": len(config), "digest": digest(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": layer.Len(), "digest": digest(layer.Bytes())}},
	})
	blobs := map[string][]byte{digest(config): config, digest(layer.Bytes()): layer.Bytes()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		switch name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; {
		case r.URL.Path == "/v2/":
		case strings.Contains(r.URL.Path, "/manifests/") && (name == "1" || name == digest(manifest)):
			w.Header().Set("Content-Type", manifestType)
			w.Header().Set("Docker-Content-Digest", digest(manifest))
			w.Write(manifest)
		case blobs[name] != nil:
			w.Write(blobs[name])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/lockpick/empty:1"
}

func TestAnImageIsPulledAndAFailedStartLeavesNoContainer(t *testing.T) {
	client := engineFor(t)
	ref := registry(t)
	t.Cleanup(func() { client.RemoveImage(ref) })
	if ok, why := Available(t.Context(), ref); !ok || !strings.Contains(why, "can be pulled") {
		t.Errorf("before: %v, %s", ok, why)
	}
	for server, want := range map[string]string{"": "--server", "redis-server": "redis-server"} {
		c, err := Start(inAMinute(t), cluster.Config{Image: ref, Masters: 2, Server: server})
		if err == nil {
			c.Close()
			t.Fatalf("an empty image started (server %q)", server)
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("server %q: the error does not say what is missing, %s: %v", server, want, err)
		}
	}
	if own, err := OwnContainers(t.Context()); err != nil || len(own) > 0 {
		t.Errorf("left behind: %v, %v", own, err)
	}
	if ok, why := Available(t.Context(), ref); !ok || !strings.Contains(why, "is local") {
		t.Errorf("after: %v, %s", ok, why)
	}
}

func TestAnImageThatNobodyHasIsAClearError(t *testing.T) {
	engineFor(t)
	ref := registry(t)
	ref = strings.Replace(ref, "empty:1", "none:1", 1) + "234"
	if ok, why := Available(t.Context(), ref); ok {
		t.Errorf("it is available: %s", why)
	}
	_, err := Start(inAMinute(t), cluster.Config{Image: ref})
	if err == nil || !strings.Contains(err.Error(), ref) || !strings.Contains(err.Error(), "lockpick doctor --make-image") {
		t.Errorf("error: %v", err)
	}
}

func TestASilentRegistryIsGivenUp(t *testing.T) {
	client := engineFor(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	waittest.Returns("the pull", func() {
		err = pull(t.Context(), client, ln.Addr().String()+"/x:1", 300*time.Millisecond, process.Serialize(nil))
	})
	if err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error: %v", err)
	}
}
