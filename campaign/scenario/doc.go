// Package scenario describes a run without running it: the lock, masters, clients, faults, properties, time
// limit and seed.
//
// Each field of a Scenario is declared once, in Fields. The declaration gives its default, the limits of its
// values, its flag with help and completion, and its row in the documents:
//
//	YAML ──Parse──► Scenario ──Check──► *Problem, which names the field and its line
//	flags ──────────►  │
//	                   └──WithRequirements──► complete Scenario, which package campaign can run
//
// A Problem is a mistake of the user. Readers of other files that users write, such as claims and situations
// of audits, also report mistakes as Problems.
package scenario
