// Package scenario describes a run, without running it: which lock, masters, clients, faults and
// properties, for how long and with which seed.
//
// Each field of a Scenario is declared once, in Fields. From there come its default, the limits of
// its values, its flag with help and completion, and its row in the documents:
//
//	YAML ──Parse──► Scenario ──Check──► *Problem, which names the field and its line
//	flags ──────────►  │
//	                   └──WithRequirements──► what its faults need is filled in, and package campaign can run it
//
// A Problem is a mistake of the user. What reads other files of users, such as claims and
// situations of audits, reports theirs as Problems, too.
package scenario
