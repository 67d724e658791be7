// Command lockpick runs fault-injection campaigns against Redis locks and judges their histories. See
// lockpick --help.
package main

import "lockpick/cli"

func main() { cli.Main() }
