package campaign

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"lockpick/campaign/scenario"
	"lockpick/clients"
)

// Program is a program that a scenario makes Lockpick start and that does not come with Lockpick: the command of
// its clients, those of its service, or the program or the Docker image of its masters. A scenario may come from somebody else.
type Program struct {
	Field string   // the field that names it: client, service, server or image
	Words []string // the command, or the image alone
}

// String returns the program as one line. Words that could be misread are quoted.
func (p Program) String() string {
	var words []string
	for _, w := range p.Words {
		if strings.Trim(w, plainLetters) != "" || w == "" {
			w = strconv.Quote(w) // also escapes what moves a terminal's cursor
		}
		words = append(words, w)
	}
	switch p.Field {
	case "image":
		return "the Docker image " + strings.Join(words, " ")
	case "server":
		return "the server " + strings.Join(words, " ")
	}
	return strings.Join(words, " ")
}

// plainLetters are the letters of words that need no quotation marks.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"

// Programs returns the programs that a run of the scenario may start, besides those that come with Lockpick.
func Programs(s *scenario.Scenario) (all []Program) {
	if s.Driver == scenario.Sim || s.Driver == scenario.Virtual {
		return nil
	}
	if s.RunsCommand() && !clients.BuiltIn(s.Client) {
		all = append(all, Program{"client", s.Client})
	}
	if s.Server != "" && s.Driver != scenario.Docker { // in a container, it belongs to the image
		all = append(all, Program{"server", []string{s.Server}})
	}
	if on := scenario.OfStore(s.Client); s.Service != nil && (on == nil || !reflect.DeepEqual(on.Service, s.Service)) {
		for _, words := range s.Service.Programs() {
			all = append(all, Program{"service", words})
		}
	}
	if s.Image != "" && s.Driver != scenario.Process {
		all = append(all, Program{"image", []string{s.Image}})
	}
	return all
}

// TrustAll is an Options.Trust for scenarios whose programs the caller names.
func TrustAll(Program) error { return nil }

// checkTrust returns an error if a run of the scenario would start a program that is not trusted, or use servers of
// other machines that nobody has allowed.
func (opt *Options) checkTrust(s *scenario.Scenario) error {
	for i, a := range s.Config().At {
		if !a.Loopback() && !opt.AllowRemote {
			return &scenario.Problem{Field: fmt.Sprintf("at[%d]", i), Says: fmt.Sprintf("%v is not on this machine: clients would write their keys there; use 127.0.0.1, or add --allow-remote if you may", a)}
		}
	}
	for _, p := range Programs(s) {
		if opt.Trust == nil {
			return &scenario.Problem{Field: p.Field, Says: "nobody has said that " + p.String() + " may be started"}
		}
		if err := opt.Trust(p); err != nil {
			return err
		}
	}
	return nil
}
