// Package doctest checks README.md and docs/: its tests run the quoted commands and compare their output.
//
// The first word of every fenced block names its kind. The tests know these:
//
//	```sh exits=1,0     commands, a line each, with a remark after two spaces or more; each
//	                    line that begins with lockpick is run and must exit like this
//	```console          "$ lockpick …" and what it prints, compared; a line "…" stands
//	                    for lines that are left out
//	```yaml scenario    a scenario, which must be valid
//	```yaml claims      a catalogue of claims, which must be valid
//
// Other blocks are not run: go (examples of packages are tests of their own), history (of the checker's
// tests), text, yaml, json. A block without a first word is an error. The commands of one page run in one
// folder, in the order of the page. "exits=-" marks commands that are not run here (with with=… the block
// gives the reason). Flags that a page omits for brevity are listed in with=: "with=--driver_sim,--seed=1" is
// added to every command of the block that has these flags.
//
// A generated table stands between "<!-- made by: COMMAND -->" and "<!-- end -->". COMMAND is "figures NAME"
// (a function in figures_test.go; compared exactly), or any other command with "measured: DATE at COMMIT"
// (the machine's figures; only the line is checked).
//
// `make docs` (go test -tags real ./internal/doctest -update) rewrites quoted output and tables.
package doctest
