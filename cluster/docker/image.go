package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ory/dockertest/v3/docker"

	"lockpick/cluster/process"
)

const (
	officialImage = "redis:7.2"            // the image for masters if a registry is available
	builtImage    = "lockpick/redis:local" // the image that BuildImage makes
)

const (
	decideWithin = 10 * time.Second // timeout for the registry's answer if there is no other image
	hurryWithin  = 3 * time.Second  // the same timeout if there is another image
	pullStalled  = time.Minute      // longest time without any progress of a pull
)

// DefaultImage chooses the image for masters if none is requested, and returns the reason: the
// official image of Redis if it is local or can be pulled, otherwise the image that was built
// here from the host's redis-server, otherwise an image that it builds now.
func DefaultImage(ctx context.Context) (ref, why string, err error) {
	pool, _, err := connect(ctx)
	if err != nil {
		return "", "", err
	}
	return defaultImage(ctx, pool.Client, process.Serialize(nil))
}

// noRegistry is the time (Unix nanoseconds) until which no registry is contacted, so that a
// series of campaigns does not wait for the same timeout again and again.
var noRegistry atomic.Int64

func defaultImage(ctx context.Context, client *docker.Client, say func(string, ...any)) (ref, why string, err error) {
	if has, err := hasImage(client, officialImage); err != nil {
		return "", "", err
	} else if has {
		return officialImage, "the official image is there", nil
	}
	built, err := hasImage(client, builtImage)
	if err != nil {
		return "", "", err
	}
	pulled := errors.New("no registry answered a moment ago")
	if time.Now().UnixNano() > noRegistry.Load() {
		decide := decideWithin
		if built {
			decide = hurryWithin
		}
		pulled = pull(ctx, client, officialImage, decide, say)
		switch {
		case pulled == nil:
			return officialImage, "the official image was pulled", nil
		case ctx.Err() != nil:
			return "", "", pulled
		}
		noRegistry.Store(time.Now().Add(10 * time.Minute).UnixNano())
	}
	if built {
		return builtImage, fmt.Sprintf("built here from the host's redis-server, since the official image is not available (%v)", pulled), nil
	}
	ref, err = buildImage(ctx, client, say)
	if err != nil {
		return "", "", fmt.Errorf("there is no image of Redis: %w; %w", pulled, err)
	}
	return ref, fmt.Sprintf("built now from the host's redis-server, since the official image is not available (%v)", pulled), nil
}

func hasImage(client *docker.Client, ref string) (bool, error) {
	_, err := client.InspectImage(ref)
	if errors.Is(err, docker.ErrNoSuchImage) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for image %s: %w", ref, err)
	}
	return true, nil
}

// haveImage pulls or builds an image unless it is local, and returns it.
func haveImage(ctx context.Context, client *docker.Client, ref string, say func(string, ...any)) (*docker.Image, error) {
	has, err := hasImage(client, ref)
	if err != nil {
		return nil, err
	}
	if !has {
		if ref == builtImage {
			_, err = buildImage(ctx, client, say)
		} else {
			err = pull(ctx, client, ref, decideWithin, say)
		}
		if err != nil {
			return nil, fmt.Errorf("image %s is not there: %w; choose one of `docker images`, or let lockpick build one: lockpick doctor --make-image", ref, err)
		}
	}
	image, err := client.InspectImage(ref)
	if err != nil {
		return nil, fmt.Errorf("look for image %s: %w", ref, err)
	}
	return image, nil
}

// serverIn returns the program that an image starts as its server: the first word of its command or its entry point
// that names one, such as valkey-server. An entry point may be a script, which is not used: it changes the user and the
// owner of the data.
func serverIn(config *docker.Config, ref string) (string, error) {
	if config == nil {
		config = &docker.Config{}
	}
	for _, word := range slices.Concat(config.Cmd, config.Entrypoint) {
		for _, w := range strings.Fields(word) { // sh -c 'valkey-server …' has it in one word
			if strings.HasSuffix(w, "-server") {
				return w, nil
			}
		}
	}
	return "", fmt.Errorf("image %s does not say which program is its server (entry point %q, command %q): name it with --server", ref, config.Entrypoint, config.Cmd)
}

// pull pulls an image from its registry. The registry must answer within the time decide;
// after that it only must make progress.
func pull(ctx context.Context, client *docker.Client, ref string, decide time.Duration, say func(string, ...any)) error {
	say("pulling %s", ref)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(decide, func() { cancel(fmt.Errorf("the registry does not answer (waited %v)", decide)) })
	defer alarm.Stop()
	repository, tag := ref, ""
	if !strings.Contains(ref, "@") {
		if repository, tag = docker.ParseRepositoryTag(ref); tag == "" {
			tag = "latest"
		}
	}
	client.SetTimeout(0)
	defer client.SetTimeout(callWithin)
	err := client.PullImage(docker.PullImageOptions{
		Repository:   repository,
		Tag:          tag,
		Context:      ctx,
		OutputStream: writerFunc(func() { alarm.Reset(pullStalled) }),
	}, docker.AuthConfiguration{})
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("pull %s: %w", ref, err)
}

// canPull asks a registry, through the engine, whether it has an image.
func canPull(ctx context.Context, ref string) error {
	pool, _, err := connect(ctx)
	if err != nil {
		return err
	}
	pool.Client.SetTimeout(engineWithin) // no other code uses this client
	if _, err := pool.Client.InspectDistribution(ref); err != nil {
		return fmt.Errorf("ask the registry for %s: %w", ref, err)
	}
	return nil
}

// writerFunc is an io.Writer that ignores the bytes and calls a function.
type writerFunc func()

func (f writerFunc) Write(b []byte) (int, error) {
	f()
	return len(b), nil
}

// BuildImage builds an image that contains only the host's redis-server and the shared
// libraries that it needs, for hosts that cannot reach a registry. It keeps an identical image
// that exists already.
func BuildImage(ctx context.Context, progress func(format string, args ...any)) (ref string, err error) {
	pool, _, err := connect(ctx)
	if err != nil {
		return "", err
	}
	return buildImage(ctx, pool.Client, process.Serialize(progress))
}

func buildImage(ctx context.Context, client *docker.Client, say func(string, ...any)) (string, error) {
	files, err := imageFiles(ctx)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", builtImage, err)
	}
	context, sum, err := buildContext(files)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", builtImage, err)
	}
	if image, err := client.InspectImage(builtImage); err == nil && image.Config != nil && image.Config.Labels[imageLabel] == sum {
		say("%s is up to date", builtImage)
		return builtImage, nil
	}
	say("building %s from %s and %d libraries (%d MB)", builtImage, files[0].host, len(files)-1, len(context)>>20)
	var out bytes.Buffer
	client.SetTimeout(0)
	defer client.SetTimeout(callWithin)
	err = client.BuildImage(docker.BuildImageOptions{
		Name:                builtImage,
		NoCache:             true,
		RmTmpContainer:      true,
		ForceRmTmpContainer: true,
		Labels:              map[string]string{ourLabel: "image", imageLabel: sum},
		InputStream:         bytes.NewReader(context),
		OutputStream:        &out,
		Context:             ctx,
	})
	if err != nil {
		return "", fmt.Errorf("build %s: %w; the engine said:\n%s", builtImage, err, strings.TrimSpace(out.String()))
	}
	return builtImage, nil
}

// imageFile is a file of this host and its path in the image.
type imageFile struct{ host, inside string }

// imageFiles lists redis-server first, and then the libraries that it is linked with.
func imageFiles(ctx context.Context) ([]imageFile, error) {
	server, err := process.ServerPath("")
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("an image needs a redis-server for Linux, and %s is one for %s; pull %s instead", server, runtime.GOOS, officialImage)
	}
	program, err := elf.Open(server)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w; it has to be the program itself, not a script that runs it", server, err)
	}
	libraries, err := program.ImportedLibraries()
	program.Close()
	if err != nil {
		return nil, fmt.Errorf("read which libraries %s needs: %w", server, err)
	}
	// In Debian, redis-server is a link to redis-check-rdb, a program whose function depends
	// on the name of the call. The image contains it under the name redis-server.
	files := []imageFile{{server, "/usr/local/bin/redis-server"}}
	if len(libraries) == 0 {
		return files, nil
	}
	out, err := exec.CommandContext(ctx, "ldd", server).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s: ldd: %w: %s", server, err, bytes.TrimSpace(out))
	}
	found, err := parseLDD(string(out))
	if err != nil {
		return nil, fmt.Errorf("list the libraries of %s: %w", server, err)
	}
	for _, f := range found {
		files = append(files, imageFile{f, f})
	}
	return files, nil
}

// parseLDD returns the paths in the output of ldd:
//
//	linux-vdso.so.1 (0x00007ffc…)                      in the kernel, no file
//	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x…)
//	/lib64/ld-linux-x86-64.so.2 (0x…)                  the dynamic loader
//	libx.so.1 => not found
func parseLDD(out string) ([]string, error) {
	var paths []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("ldd: %s", strings.TrimSpace(line))
		}
		_, file, linked := strings.Cut(line, "=>")
		if !linked {
			file = line
		}
		if f := strings.Fields(file); len(f) > 0 && strings.HasPrefix(f[0], "/") && !slices.Contains(paths, f[0]) {
			paths = append(paths, f[0])
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// buildContext returns the tar archive from which the image is built, and a hash of everything
// that defines the image.
func buildContext(files []imageFile) (archive []byte, sum string, err error) {
	// The loader in the image has no cache of library paths.
	var folders []string
	for _, f := range files[1:] {
		if d := path.Dir(f.inside); !slices.Contains(folders, d) {
			folders = append(folders, d)
		}
	}
	dockerfile := "FROM scratch\nCOPY root/ /\n" +
		"ENV PATH=/usr/local/bin LD_LIBRARY_PATH=" + strings.Join(folders, ":") + "\n" +
		"WORKDIR /data\nEXPOSE " + insidePort + "\nENTRYPOINT [\"redis-server\"]\n"
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, mode int64, content []byte) error {
		// Leave out times and owners, so that the same files give the same archive.
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	if err := add("Dockerfile", 0o644, []byte(dockerfile)); err != nil {
		return nil, "", err
	}
	for _, f := range files {
		real, err := filepath.EvalSymlinks(f.host)
		if err != nil {
			return nil, "", err
		}
		content, err := os.ReadFile(real)
		if err != nil {
			return nil, "", err
		}
		if err := add("root"+f.inside, 0o755, content); err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	h := sha256.New()
	io.Copy(h, bytes.NewReader(b.Bytes()))
	return b.Bytes(), hex.EncodeToString(h.Sum(nil)), nil
}
