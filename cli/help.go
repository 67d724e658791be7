package cli

import (
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lockpick/campaign/scenario"
	"lockpick/internal/spelling"
	"lockpick/reports/term"
)

// The groups of the commands, by what a user wants to do.
var groups = []*cobra.Group{
	{ID: "test", Title: "Test a lock"},
	{ID: "explain", Title: "Explain a run"},
	{ID: "operate", Title: "Locks in use"},
	{ID: "tools", Title: "Tools"},
}

// under puts commands into a group.
func under(group string, commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = group
	}
	return commands
}

// oldName makes a command a hidden one of an old name.
func oldName(c *cobra.Command, name, instead string) *cobra.Command {
	_, rest, _ := strings.Cut(c.Use, " ")
	c.Use, c.Deprecated, c.Hidden, c.GroupID = strings.TrimSpace(name+" "+rest), "use lockpick "+instead, true, ""
	return c
}

// sectioned is the annotation of a flag that only --help-all shows, under a heading.
const sectioned = "lockpick-section"

// inSection makes --help-all show a flag under a heading, and --help leave it out.
func inSection(cmd *cobra.Command, flag, section string) {
	_ = cmd.Flags().SetAnnotation(flag, sectioned, []string{section}) // fails only if there is no such flag
	if cmd.Flags().Lookup(helpAll) == nil {
		cmd.Flags().Bool(helpAll, false, "show all flags")
	}
}

const helpAll = "help-all"

// showAllHelp makes --help-all print the help of a command, whatever its arguments.
func showAllHelp(c *cobra.Command) {
	if c.Flags().Lookup(helpAll) == nil {
		return
	}
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if all, _ := cmd.Flags().GetBool(helpAll); all {
			return cmd.Help()
		}
		return run(cmd, args)
	}
}

// flagUsages lists the flags of a command for its help, as wide as the terminal: those that most people use, and with --help-all
// the others under headings.
func flagUsages(cmd *cobra.Command) string {
	width, _ := terminal()
	everyday := pflag.NewFlagSet("", pflag.ContinueOnError)
	everyday.SortFlags = cmd.Flags().SortFlags
	sections := map[string]*pflag.FlagSet{}
	var order []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		section := strings.Join(f.Annotations[sectioned], "")
		if section == "" {
			everyday.AddFlag(f)
			return
		}
		if sections[section] == nil {
			sections[section] = pflag.NewFlagSet("", pflag.ContinueOnError)
			sections[section].SortFlags = false
			order = append(order, section)
		}
		sections[section].AddFlag(f)
	})
	text := everyday.FlagUsagesWrapped(width)
	if all, _ := cmd.Flags().GetBool(helpAll); !all {
		if len(order) > 0 {
			text += "\n" + fitted(fmt.Sprintf("More flags (%s): %s --help-all", strings.ToLower(strings.Join(order, ", ")), cmd.CommandPath())) + "\n"
		}
		return text
	}
	for _, section := range order {
		text += "\n" + section + ":\n" + sections[section].FlagUsagesWrapped(width)
	}
	return text
}

// fitted returns a text of a command's help as wide as the terminal, at most as prose is read with ease.
func fitted(text string) string { return fittedAfter(0, text) }

// fittedAfter is fitted for a text that begins in a column.
func fittedAfter(column int, text string) string {
	width, _ := terminal()
	return term.Paragraphs(strings.TrimRight(text, " \n"), min(width, 100), strings.Repeat(" ", column))
}

// fittedExamples puts what an example says below its command where both do not fit into a line of the terminal.
func fittedExamples(text string) string {
	width, _ := terminal()
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		command := strings.TrimLeft(line, " ")
		if said := strings.Index(command, "  "); said > 0 && len(line) > width {
			lines[i] = "  " + command[:said] + "\n      " + fittedAfter(6, strings.TrimLeft(command[said:], " "))
		}
	}
	return strings.Join(lines, "\n")
}

// setHelp makes the help of a program and its commands as wide as the terminal, and use flagUsages.
func setHelp(root *cobra.Command) {
	cobra.AddTemplateFuncs(template.FuncMap{"flagUsages": flagUsages, "fitted": fitted, "fittedAfter": fittedAfter, "fittedExamples": fittedExamples})
	root.SetUsageTemplate(strings.NewReplacer(
		".LocalFlags.FlagUsages", "flagUsages .",
		"{{.Example}}", "{{fittedExamples .Example}}",
		"{{rpad .Name .NamePadding }} {{.Short}}", "{{rpad .Name .NamePadding}} {{fittedAfter 14 .Short}}",
	).Replace(root.UsageTemplate()))
	root.SetHelpTemplate(strings.ReplaceAll(root.HelpTemplate(), ". | trimTrailingWhitespaces", "fitted ."))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see: %s --help)", inUsersWords(cmd, err), cmd.CommandPath())}
	})
}

// wanted says what a flag takes, by the type of its value.
var wanted = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number from 0", "uint64": "a whole number from 0",
	"float64": "a number", "duration": "a duration such as 2s or 500ms", "bool": "true or false", "intSlice": "whole numbers with commas between them",
}

// inUsersWords says what is wrong with a flag without the words of the library.
func inUsersWords(cmd *cobra.Command, err error) error {
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if like := spelling.Nearest(name, names); like != "" {
			return fmt.Errorf("there is no flag --%s: did you mean --%s?", name, like)
		}
		for _, f := range scenario.Fields {
			if f.RunOnly && f.FlagName() == name {
				return fmt.Errorf("there is no flag --%s for %s, but lockpick run has it", name, cmd.Name())
			}
		}
		return fmt.Errorf("there is no flag --%s", name)
	}
	if bad := (*pflag.InvalidValueError)(nil); errors.As(err, &bad) {
		if what := wanted[bad.GetFlag().Value.Type()]; what != "" {
			return fmt.Errorf("--%s: %s, not %q", bad.GetFlag().Name, what, bad.GetValue())
		}
		return fmt.Errorf("--%s: %w", bad.GetFlag().Name, errors.Unwrap(bad))
	}
	return err
}

// sectionsOf puts the flags of fields that few people use under the headings of their declarations.
func sectionsOf(cmd *cobra.Command, fields []*scenario.Field) {
	for _, f := range fields {
		if !f.Everyday {
			inSection(cmd, f.FlagName(), f.Section)
		}
	}
}
