package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"lockpick/audit"
	"lockpick/campaign"
	"lockpick/checker"
	"lockpick/search"
	"lockpick/workload"
)

// complete sets the values that the shell offers for flags and arguments. The completion
// command of cobra writes the script for the shell.
func complete(root *cobra.Command) {
	var locks, properties []string
	for _, k := range append(workload.Registered(), workload.Locks...) {
		locks = append(locks, k.Name+"\t"+k.Summary)
	}
	for _, p := range checker.Properties {
		properties = append(properties, p.Name+"\t"+p.Level)
	}
	offers := offeredByFields()
	offers["lock"], offers["property"], offers["budget"] = locks, properties, search.Budgets
	for _, cmd := range root.Commands() {
		for name, values := range offers {
			if cmd.Flags().Lookup(name) == nil {
				continue
			}
			_ = cmd.RegisterFlagCompletionFunc(name, listOf(func() []string { return values })) // fails only if the flag has a function already
		}
		switch cmd.Name() {
		case "audit":
			_ = cmd.RegisterFlagCompletionFunc("only", listOf(situations))
		case "check", "show", "replay", "shrink":
			cmd.ValidArgsFunction = runsAndFiles
		case "diff":
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				if len(args) == 1 {
					args = nil // a second run follows the first
				}
				return runsAndFiles(cmd, args, typed)
			}
		}
	}
}

// situations returns those of the audits, which are read from files in the program: only when the shell asks for them.
func situations() []string {
	var all []string
	for _, x := range audit.Battery() {
		all = append(all, x.ID+"\t"+x.Name)
	}
	return all
}

// listOf completes the last item of a comma-separated list.
func listOf(values func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var offered []string
		for _, v := range values() {
			offered = append(offered, before+v)
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// runsAndFiles offers the runs of the store, the word latest, and files.
func runsAndFiles(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dir := "store"
	if f := cmd.Flags().Lookup("store"); f != nil {
		dir = f.Value.String()
	}
	runs, err := campaign.Store{Dir: dir}.Runs()
	if err != nil {
		return []string{"latest"}, cobra.ShellCompDirectiveDefault
	}
	return append([]string{"latest"}, runs...), cobra.ShellCompDirectiveDefault
}
