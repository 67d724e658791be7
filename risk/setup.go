package risk

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"lockpick/campaign/scenario"
	"lockpick/cluster"
	"lockpick/internal/strictyaml"
	"lockpick/workload"
)

// Setup is the input of an estimate: the deployment, the use of the lock, and the rates of faults.
// The names of the fields in YAML are the names of the flags; Fields describes them.
type Setup struct {
	Lock         string        `yaml:"lock" json:"lock"`
	Masters      int           `yaml:"masters" json:"masters"`
	Persistence  string        `yaml:"persistence" json:"persistence"`
	Replicas     int           `yaml:"replicas" json:"replicas"`
	Wait         int           `yaml:"wait" json:"wait"`
	RestartDelay time.Duration `yaml:"restart_delay" json:"restart_delay"`
	Fencing      bool          `yaml:"fencing" json:"fencing"`
	TTL          time.Duration `yaml:"ttl" json:"ttl"`
	Extended     bool          `yaml:"extended" json:"extended"`

	Acquisitions float64 `yaml:"acquisitions" json:"acquisitions"`
	Hold         Times   `yaml:"hold" json:"hold"`
	Keys         int     `yaml:"keys" json:"keys"`
	Contended    float64 `yaml:"contended" json:"contended"`

	Restarts      Rate `yaml:"restarts" json:"restarts"`
	Crashes       Rate `yaml:"crashes" json:"crashes"`
	PowerFailures Rate `yaml:"power_failures" json:"power_failures"`
	SiteFailures  Rate `yaml:"site_failures" json:"site_failures"`
	Failovers     Rate `yaml:"failovers" json:"failovers"`
	ClockSteps    Rate `yaml:"clock_steps" json:"clock_steps"`
	Partitions    Rate `yaml:"partitions" json:"partitions"`
	ClientPauses  Rate `yaml:"client_pauses" json:"client_pauses"`

	Downtime       Times `yaml:"downtime" json:"downtime"`
	ReplicationLag Times `yaml:"replication_lag" json:"replication_lag"`
	ClockStep      Times `yaml:"clock_step" json:"clock_step"`
	Partition      Times `yaml:"partition" json:"partition"`
	ClientPause    Times `yaml:"client_pause" json:"client_pause"`
}

// Defaults returns the setup without a file or flags. Fields has the source of each default.
func Defaults() Setup { return defaults() }

var defaults = sync.OnceValue(func() Setup {
	var s Setup
	for _, f := range Fields {
		if err := s.Set(f.Name, f.Default); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", f.Name, err))
		}
	}
	return s
})

// setupFields lists the known fields, for the error on an unknown one.
var setupFields = sync.OnceValue(func() string { return "the fields are " + strings.Join(strictyaml.Fields(Setup{}), ", ") })

// Set sets a field from text, as a flag does.
func (s *Setup) Set(field, text string) error {
	b := []byte(field + ": " + quoteTimes(text) + "\n")
	if err := yaml.NewDecoder(bytes.NewReader(b), yaml.Strict()).Decode(s); err != nil {
		return &scenario.Problem{Field: field, Says: plainly(err)}
	}
	return nil
}

// quoteTimes quotes text that YAML could read as a mapping or a list.
func quoteTimes(text string) string {
	if strings.ContainsAny(text, ":=,") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// plainly returns the first line of a decoder's error, without the position.
func plainly(err error) string {
	var y yaml.Error
	if errors.As(err, &y) {
		return y.GetMessage()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// Load reads a setup from a file, on top of the defaults.
func Load(path string) (Setup, error) { return strictyaml.Load(path, "risk", Parse) }

// Parse reads a setup, on top of the defaults. Errors begin with the line and the column.
func Parse(b []byte) (s Setup, err error) {
	s = Defaults()
	file, err := strictyaml.Decode(b, &s, setupFields())
	if errors.Is(err, strictyaml.ErrEmpty) {
		return Defaults(), nil
	}
	var problem *scenario.Problem
	if err == nil && errors.As(s.Check(), &problem) {
		err = file.At(problem.Field, problem)
	}
	return s, err
}

// YAML returns the setup as a file that Load can read.
func (s Setup) YAML() ([]byte, error) { return yaml.Marshal(s) }

// Check returns what is wrong with the setup, as a *scenario.Problem, or nil.
func (s *Setup) Check() error {
	kind, known := workload.LockNamed(s.Lock)
	for field, d := range map[string]Times{"hold": s.Hold, "downtime": s.Downtime, "replication_lag": s.ReplicationLag, "clock_step": s.ClockStep, "partition": s.Partition, "client_pause": s.ClientPause} {
		if len(d.points) == 0 {
			return &scenario.Problem{Field: field, Says: "how long is it? Leave the field out for its default"}
		}
	}
	switch {
	case !known:
		return scenario.UnknownValue("lock", s.Lock, workload.CorrectNames())
	case s.Fencing && !kind.Fencing:
		return &scenario.Problem{Field: "fencing", Says: fmt.Sprintf("the lock %s has no fencing tokens", s.Lock)}
	case !slices.Contains(cluster.Persistences, cluster.Persistence(s.Persistence)):
		return scenario.UnknownValue("persistence", s.Persistence, cluster.Persistences)
	case s.Masters < 1 || s.Masters > 15:
		return &scenario.Problem{Field: "masters", Says: fmt.Sprintf("%d is out of range: 1 to 15", s.Masters)}
	case s.Replicas < 0 || s.Replicas > 2:
		return &scenario.Problem{Field: "replicas", Says: fmt.Sprintf("%d is out of range: 0 to 2", s.Replicas)}
	case s.Wait < 0 || s.Wait > s.Replicas:
		return &scenario.Problem{Field: "wait", Says: fmt.Sprintf("%d is out of range: 0 to the number of replicas, %d", s.Wait, s.Replicas)}
	case s.TTL < 100*time.Millisecond || s.TTL > time.Hour:
		return &scenario.Problem{Field: "ttl", Says: fmt.Sprintf("%v is out of range: 100ms to 1h", s.TTL)}
	case s.RestartDelay < 0 || s.RestartDelay > time.Hour:
		return &scenario.Problem{Field: "restart_delay", Says: fmt.Sprintf("%v is out of range: 0s to 1h", s.RestartDelay)}
	case !(s.Acquisitions > 0 && s.Acquisitions <= 1e7):
		return &scenario.Problem{Field: "acquisitions", Says: fmt.Sprintf("%v is out of range: more than 0, up to 10000000 a second", s.Acquisitions)}
	case s.Hold.Mean() <= 0:
		return &scenario.Problem{Field: "hold", Says: "critical sections take some time: the longest cannot be 0s"}
	case s.Keys < 1:
		return &scenario.Problem{Field: "keys", Says: "there is at least one"}
	case !(s.Contended >= 0 && s.Contended < 1):
		return &scenario.Problem{Field: "contended", Says: fmt.Sprintf("%v is out of range: 0 (as follows from the number of keys) to below 1", s.Contended)}
	case s.Contended == 0 && s.Acquisitions*s.Hold.Mean().Seconds()/float64(s.Keys) >= 1:
		return &scenario.Problem{Field: "acquisitions", Says: fmt.Sprintf("%v a second of %v each, on average, are more than %d keys can have: each key is held by one at a time", s.Acquisitions, s.Hold.Mean(), s.Keys)}
	case s.Failovers.High > 0 && s.Replicas == 0:
		return &scenario.Problem{Field: "failovers", Says: "a failover needs replicas: add replicas: 1"}
	}
	return nil
}

// perKey returns how often a key in use is acquired, per second. Arrivals see time averages: the
// share of acquisitions that find the key held is the share of time for which it is held. So the
// rate follows from that share. Without that share, it follows from the number of keys.
func (s *Setup) perKey() float64 {
	if s.Contended > 0 {
		return s.Contended / s.Hold.Mean().Seconds()
	}
	return s.Acquisitions / float64(s.Keys)
}

// Values returns the fields' values as text, in the order of Fields.
func (s *Setup) Values() (list []string) {
	v := reflect.ValueOf(*s)
	for _, f := range Fields {
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("yaml") == f.Name {
				list = append(list, fmt.Sprint(v.Field(i).Interface()))
			}
		}
	}
	return list
}

// waits returns the mean waiting time for a key, by the formula of Pollaczek and Khinchine for a
// queue with one server. A client that waits when the holder gets the lock came that long before.
func (s *Setup) waits() time.Duration {
	rate, mean := s.perKey(), s.Hold.Mean().Seconds()
	return time.Duration(rate * s.Hold.meanSquare() / (2 * (1 - min(rate*mean, 0.95))) * float64(time.Second))
}

// comers returns the mean number of other clients that want the key while the holder of a sample
// has it.
func (s *Setup) comers(lasts time.Duration) float64 {
	return s.perKey() * (s.waits() + lasts).Seconds()
}
