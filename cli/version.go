package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by `make release`. Other builds only have the commit that Go recorded.
var version = "dev"

// build describes the sources and the platform of a program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // empty: it was not built in a Git checkout
	Time     string `json:"time"`   // of the commit, RFC 3339
	Dirty    bool   `json:"dirty"`  // the checkout had changes that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// buildOf returns the build that Go recorded in the program. Without a record, info is nil.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	commit := "no commit recorded"
	if b.Commit != "" {
		commit = "commit " + b.Commit[:min(12, len(b.Commit))]
		if b.Time != "" {
			commit += " of " + b.Time
		}
		if b.Dirty {
			commit += ", with uncommitted changes"
		}
	}
	return fmt.Sprintf("lockpick %s (%s), %s, %s", b.Version, commit, b.Go, b.Platform)
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go release of this program",
		Long: `Version prints what this program was built from. Two programs of the same commit simulate
the same history from the same scenario and seed.`,
		Example: `  lockpick --version
  lockpick --version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			b := buildOf(info)
			if asJSON {
				e := json.NewEncoder(os.Stdout)
				e.SetIndent("", "  ")
				return e.Encode(b)
			}
			fmt.Println(b)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
