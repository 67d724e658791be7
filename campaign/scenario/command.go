package scenario

import (
	"fmt"
	"reflect"
	"strings"
)

// Command returns the command that runs the scenario, with a flag for each field that differs from the defaults. It
// returns "" if one of them has no flag, such as a schedule.
func (s *Scenario) Command() string {
	words := []string{"lockpick", "run"}
	defaults := Defaults()
	for _, f := range Fields {
		is, was := f.in(s), f.in(&defaults)
		if f.Name != "seed" && (f.Name == "name" || reflect.DeepEqual(is.Interface(), was.Interface()) || is.Kind() == reflect.Slice && is.Len()+was.Len() == 0) {
			continue
		}
		name := f.FlagName()
		switch {
		case name == "":
			return ""
		case is.Kind() == reflect.Bool:
			words = append(words, fmt.Sprintf("--%s=%v", name, is.Bool()))
			continue
		case f.Form == CommandForm:
			words = append(words, "--"+name, quoted(strings.Join(is.Interface().([]string), " ")))
			continue
		case f.Form == NoneForm && is.Len() == 0:
			words = append(words, "--"+name, none)
			continue
		}
		text := fmt.Sprint(is.Interface())
		if is.Kind() == reflect.Slice {
			text = strings.Trim(strings.ReplaceAll(text, " ", ","), "[]")
		}
		words = append(words, "--"+name, quoted(text))
	}
	return strings.ReplaceAll(strings.Join(words, " "), "=true", "")
}

// quoted quotes a word for a shell if it needs that.
func quoted(word string) string {
	if strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") || word == "" {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}
