package process

import (
	"fmt"
	"os"
)

// Programs runs servers of any program. They end with the harness, as masters do.
type Programs struct{ spawner *spawner }

// Program is the engine of a server of any program. Its Owns and Complaint say nothing of it.
type Program interface {
	Engine
	// Group returns the process group of the server, which no other process has while it runs; 0: it never ran.
	Group() int
}

// NewPrograms makes ready to run servers until Close.
func NewPrograms() *Programs { return &Programs{newSpawner()} }

// New makes the engine of a server, and the folder in which it runs. env is added to the environment
// of the harness.
func (p *Programs) New(path string, args, env []string, at Site) (Program, error) {
	if err := os.MkdirAll(at.data(), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of %s: %w", at.Name, err)
	}
	return &process{spawner: p.spawner, path: path, args: args, env: env, Site: at}, nil
}

// Folder returns the folder in which a server runs.
func (s Site) Folder() string { return s.data() }

// Close must be called when all servers have ended.
func (p *Programs) Close() { p.spawner.stop() }

func (p *process) Group() int { return p.pid }
