// Command lockpick runs fault-injection campaigns against Redis locks and judges
// what happened. See lockpick --help.
package main

import "lockpick/cli"

func main() { cli.Main() }
