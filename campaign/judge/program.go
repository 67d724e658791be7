package judge

// Program is how users call this program, in the commands that it prints. A program of one's own that has more locks sets
// it before anything runs: the program lockpick does not know them.
var Program = "lockpick"
