package claims

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"lockpick/campaign/scenario"
	"lockpick/checker"
	"lockpick/reports/term"
)

// intro begins the page that is generated from the catalogue.
const intro = `# The claims

<!-- Generated from claims/catalogue by "make docs". Do not edit. -->

What people say about locks on Redis, and on etcd and ZooKeeper, each put to the test by ` + "`lockpick claims`" + `. Every claim below has the scenarios that
test it and the verdict to expect; ` + "`lockpick claims --only ID`" + ` verifies one and keeps the runs that show it. How the claims
make up the debate about Redlock is told in [debate.md](debate.md); how to write one for a lock of your own, in
[writing-claims.md](writing-claims.md).

Verdicts are about one property at one level: L1 keys, L2 leases (mutual exclusion), L3 beliefs (critical sections), L4
effects (stale writes), L5 effects behind a fence, RMW updates at a resource with compare-and-set; DF deadlock freedom, AV availability, EXT extensions, FM fencing
tokens. A violation counts only if it has the reason that is named. A *twin* is the same case with the one thing changed that is
to blame; it must be acquitted.
`

// Markdown writes the catalogue as a page of documentation.
func Markdown(w io.Writer, all []Claim) error {
	var b bytes.Buffer
	b.WriteString(intro)
	fmt.Fprintf(&b, "\n%s\n", countTruths(all))
	group := ""
	for i := range all {
		if c := &all[i]; c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n## %s\n\n| | claim | | verdict | basis |\n|---|---|---|---|---|\n", group)
			for _, d := range all[i:] {
				if d.Group != group {
					break
				}
				fmt.Fprintf(&b, "| [%s](#claim-%s) | %s | %s | %s | %s |\n", d.ID, d.ID, cellText(d.Claim), truthMark(&d), cellText(d.Verdict), cellText(d.Basis))
			}
		}
		claimMarkdown(&b, &all[i])
	}
	_, err := w.Write(b.Bytes())
	return err
}

// truthMark renders whether a claim is true, by a mark and a word.
func truthMark(c *Claim) string {
	switch c.Truth {
	case Confirmed:
		return "✓ confirmed"
	case Refuted:
		return "✗ refuted"
	case Depends:
		return "± depends"
	}
	if c.Bug {
		return "planted bug"
	}
	return ""
}

// countTruths counts how many claims are confirmed, refuted, and depend.
func countTruths(all []Claim) string {
	n, bugs := map[Truth]int{}, 0
	for i := range all {
		n[all[i].Truth]++
		if all[i].Bug {
			bugs++
		}
	}
	return fmt.Sprintf("%d claims: %d are confirmed, %d refuted, %d depend on what is said at the verdict. Beside them, %s show that the checkers see what they should.",
		len(all)-bugs, n[Confirmed], n[Refuted], n[Depends], term.Plural(bugs, "planted bug"))
}

func cellText(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "|", "\\|") }

func claimMarkdown(b *bytes.Buffer, c *Claim) {
	fmt.Fprintf(b, "\n<a id=\"claim-%s\"></a>\n\n### %s. %s\n\n", c.ID, c.ID, strings.TrimSpace(c.Claim))
	if len(c.Sources) > 0 {
		fmt.Fprintf(b, "Said by %s", strings.Join(c.Sources, ", "))
		if len(c.Denied) > 0 {
			fmt.Fprintf(b, "; denied by %s", strings.Join(c.Denied, ", "))
		}
		b.WriteString(". ")
	}
	fmt.Fprintf(b, "**%s** (%s).\n", term.Capitalize(strings.TrimSpace(c.Verdict)), strings.TrimSpace(c.Basis))
	if text := strings.Join(strings.Fields(c.Explain), " "); text != "" {
		fmt.Fprintf(b, "\n%s\n", strings.Join(term.Lines(text, 116), "\n"))
	}
	b.WriteByte('\n')
	for i := range c.Cases {
		caseMarkdown(b, &c.Cases[i])
	}
}

func caseMarkdown(b *bytes.Buffer, k *Case) {
	b.WriteString("- ")
	if k.Name != "" {
		fmt.Fprintf(b, "*%s*: ", k.Name)
	}
	servers := fmt.Sprintf("%s, persistence %s", term.Plural(k.Scenario.Masters, "master"), k.Scenario.Persistence)
	if on := k.Scenario.Service; on != nil {
		servers = fmt.Sprintf("%s of %s", term.Plural(k.Scenario.Masters, "server"), on.Name)
	}
	fmt.Fprintf(b, "%s Lock `%s`, %s.\n", strings.TrimSpace(k.Shows), k.Scenario.Lock, servers)
	for _, e := range k.Expect {
		fmt.Fprintf(b, "  - %s %s: **%s**%s\n", e.Level(), checker.TitleOf(e.Property), e.Verdict, reasonMarkdown(&e))
	}
	if len(k.Measure) > 0 {
		fmt.Fprintf(b, "  - measured: %s\n", strings.Join(k.Measure, ", "))
	}
	if k.Twin != nil {
		lock := ""
		if k.Twin.Scenario.Lock != k.Scenario.Lock {
			lock = fmt.Sprintf(" (lock `%s`)", k.Twin.Scenario.Lock)
		}
		fmt.Fprintf(b, "  - twin: %s%s: acquitted\n", strings.TrimRight(k.Twin.Shows, "."), lock)
	}
	for _, d := range []string{scenario.Sim, scenario.Process, scenario.Docker} {
		if why := k.NotOn[d]; why != "" {
			fmt.Fprintf(b, "  - not on %s: %s\n", d, why)
		}
	}
}

func reasonMarkdown(e *Expect) string {
	var parts []string
	if len(e.Faults) > 0 {
		parts = append(parts, "by "+strings.Join(e.Faults, " and "))
	}
	if e.Because != "" {
		parts = append(parts, "because “"+e.Because+"”")
	}
	if e.Verdict != checker.Violated || len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}
