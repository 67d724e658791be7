package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"lockpick/campaign/scenario"
)

// TestEveryFieldHasItsFlag: lockpick run has the flag of each field that is declared with one, with its help
// and its default, and the flag replaces the field of the scenario, and no other one.
func TestEveryFieldHasItsFlag(t *testing.T) {
	examples := map[reflect.Kind]string{reflect.Bool: "true", reflect.Int: "3", reflect.Int64: "3000000", reflect.Uint64: "3", reflect.Float64: "0.3"}
	tried := 0
	for _, f := range scenario.Fields {
		if f.FlagName() == "" {
			continue
		}
		tried++
		var x scenarioFlags
		cmd := &cobra.Command{}
		x.register(cmd, func(*scenario.Field) bool { return true })
		flag := cmd.Flags().Lookup(f.FlagName())
		if flag == nil {
			t.Errorf("%s has no flag --%s", f.Name, f.FlagName())
			continue
		}
		if flag.Usage != f.Usage() {
			t.Errorf("--%s says %q", flag.Name, flag.Usage)
		}
		defaults, got := scenario.Defaults(), scenario.Defaults()
		kind := reflect.TypeOf(f.Of(&got)).Elem()
		value, known := examples[kind.Kind()]
		switch {
		case kind == reflect.TypeFor[scenario.Duration]():
			value = "1500ms"
		case len(f.Offers()) > 0:
			value = f.Offers()[len(f.Offers())-1]
			if value == flag.DefValue || f.Name == "usage" || f.Name == "targets" { // the last usages refuse the default faults; only a service has a leader
				value = f.Offers()[0]
			}
			if f.Name == "clients_as" {
				cmd.Flags().Set("driver", scenario.Process)
			}
		case !known:
			value = map[string]string{"name": "other", "lock": "textbook", "hold": "1s", "clock": "+60s", "client_clock": "x1.5", "client": "'a b' c", "image": "other", "server": "other", "acl": "user app on >secret ~* +@all"}[f.Name]
		}
		if f.Name == "fencing" || f.Name == "wait" {
			cmd.Flags().Set("replicas", "2")
			value = map[string]string{"fencing": "true", "wait": "2"}[f.Name]
		}
		if lock := map[string]string{"kind": "multi", "permits": "semaphore", "readers": "rw"}[f.Name]; lock != "" {
			cmd.Flags().Set("lock", lock)
		}
		if err := cmd.Flags().Set(f.FlagName(), value); err != nil {
			t.Errorf("--%s %q: %v", f.FlagName(), value, err)
			continue
		}
		if f.Name == "client_rate" || f.Name == "replicas" {
			value = "2"
			cmd.Flags().Set(f.FlagName(), value)
		}
		got, err := x.scenario(cmd, nil)
		if err != nil {
			t.Errorf("--%s %s: %v", f.FlagName(), value, err)
			continue
		}
		if reflect.DeepEqual(reflect.ValueOf(f.Of(&got)).Elem().Interface(), reflect.ValueOf(f.Of(&defaults)).Elem().Interface()) {
			t.Errorf("--%s %s changes nothing", f.FlagName(), value)
		}
		for _, other := range scenario.Fields {
			same := reflect.DeepEqual(reflect.ValueOf(other.Of(&got)).Elem().Interface(), reflect.ValueOf(other.Of(&defaults)).Elem().Interface())
			if also := cmd.Flags().Lookup(other.FlagName()); !same && other.Name != f.Name && (also == nil || !also.Changed) {
				t.Errorf("--%s %s changes %s, too", f.FlagName(), value, other.Name)
			}
		}
	}
	if tried < 35 {
		t.Errorf("only %d flags", tried)
	}
}

// TestCompletionOffersTheValuesOfFields: completion offers what the declaration allows.
func TestCompletionOffersTheValuesOfFields(t *testing.T) {
	run, _, err := rootCommand().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range scenario.Fields {
		if len(f.Offers()) == 0 || f.Name == "properties" { // those have explanations
			continue
		}
		offer, ok := run.GetFlagCompletionFunc(f.FlagName())
		if !ok {
			t.Errorf("--%s is not completed", f.FlagName())
			continue
		}
		if got, _ := offer(run, nil, ""); !slices.Equal(got, f.Offers()) {
			t.Errorf("--%s is completed with %v, not with %v", f.FlagName(), got, f.Offers())
		}
	}
}

// TestServersOfYourOwn: --at decides the number of masters and leaves out the default faults that need servers that
// Lockpick started. Such faults are refused if they are named.
func TestServersOfYourOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("name: x\nfaults: [kill]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		files []string
		want  string // the faults, or a part of the error
	}{
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:2"}, want: "[partition]"},
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:2", "--faults", "slow"}, want: "[slow]"},
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:2", "--faults", "kill,partition"}, want: "kill needs servers that Lockpick started: on servers of your own there are partition, slow"},
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:2"}, files: []string{file}, want: "kill needs servers"},
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:2", "--masters", "5"}, want: "--masters: 5 masters"},
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:2", "--driver", "process"}, want: "leave the driver process out"},
		{args: []string{"--at", "127.0.0.1:1,127.0.0.1:1"}, want: "there twice"},
	} {
		var x scenarioFlags
		cmd := &cobra.Command{}
		x.register(cmd, func(*scenario.Field) bool { return true })
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		s, err := x.scenario(cmd, c.files)
		got := fmt.Sprint(s.Faults)
		if err != nil {
			got = err.Error()
		} else if s.Masters != 2 {
			t.Errorf("%v: %d masters", c.args, s.Masters)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v %v: %s, want %s", c.args, c.files, got, c.want)
		}
	}
}

// TestAServerThatDoesNotAnswerIsTheUsersToMend: it is not an error of Lockpick.
func TestAServerThatDoesNotAnswerIsTheUsersToMend(t *testing.T) {
	_, stderr, code := lockpick(t, t.TempDir(), "run", "--at", "127.0.0.1:1", "--time-limit", "2s")
	if code != exitUsage || !strings.Contains(stderr, "m1 at 127.0.0.1:1: INFO server: ") || !strings.Contains(stderr, ". Start the server, or correct its address, user or password") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
